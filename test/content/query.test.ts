import { beforeAll, describe, expect, test } from '@jest/globals';
import type { Client } from '../support/client.js';
import { clientOf } from '../support/organisation.js';
import { sharedProduct, withDb } from '../support/product.js';

describe('queries', () => {
  let api: Client;

  const NOTES = [
    { id: 'bees', text: 'A honey bee colony has one queen. Workers collect nectar and pollen from flowers.' },
    { id: 'tea', text: 'Green tea is steeped at eighty degrees. Black tea wants boiling water.' },
    {
      id: 'rail',
      text: 'Siemens built the first electric railway in Berlin in 1879. Werner von Siemens presented it at a fair.',
    },
  ];

  beforeAll(async () => {
    api = await clientOf('queries');
    await api.createDatabase('notes');
    await api.ingest({ database: 'notes', collection: 'one', memories: JSON.stringify(NOTES) });
    await api.ingest({
      database: 'notes',
      collection: 'two',
      app_knowledge: JSON.stringify([
        {
          id: 'manual',
          title: 'Kettle manual',
          text: 'The kettle boils water in two minutes.',
          metadata: { brand: 'Acme', page: 'front', rows: 7 },
          additional_metadata: { headings: 'none', sheet: 'A4', location: 'shelf' },
        },
      ]),
    });
    for (const { id } of [...NOTES, { id: 'manual' }])
      expect(await api.ended('notes', id)).toMatchObject({ indexing_status: 'completed' });
  });

  const query = async (body: Record<string, unknown>) =>
    (await api.post('/query', { database: 'notes', ...body })).body.data;
  const ids = (data: { chunks: { source_id: string }[] }) => data.chunks.map((chunk) => chunk.source_id);

  test('hybrid, text and vector search find the right note', async () => {
    for (const query_by of ['hybrid', 'text', 'vector']) {
      expect([query_by, ids(await query({ query: 'Who collects nectar?', query_by }))[0]]).toEqual([query_by, 'bees']);
    }
  });

  test('vector search finds a text by its meaning', async () => {
    expect(ids(await query({ query: 'insects that make sweet food in a hive', query_by: 'vector' }))[0]).toBe('bees');
  });

  test('results can be limited by number, collection, type and id', async () => {
    expect(ids(await query({ query: 'water', max_results: 1 }))).toHaveLength(1);
    expect(ids(await query({ query: 'boiling water', collection: 'two' }))).toEqual(['manual']);
    expect(ids(await query({ query: 'boiling water', collections: ['one'] }))).not.toContain('manual');
    expect(ids(await query({ query: 'boiling water', type: 'knowledge' }))).toEqual(['manual']);
    expect(ids(await query({ query: 'boiling water', ids: ['tea'] }))).toEqual(['tea']);
  });

  test('weights change the order of collections, and restrict the query to them', async () => {
    const first = async (collections: object) => ids(await query({ query: 'boiling water', collections }))[0];
    expect(await first({ one: 5, two: 1 })).toBe('tea');
    expect(await first({ one: 1, two: 5 })).toBe('manual');
    expect(ids(await query({ query: 'boiling water', collections: { two: 0.5 } }))).toEqual(['manual']);
    for (const collections of [
      {},
      [],
      { one: 0 },
      { one: -1 },
      { one: 'much' },
      { 'no name': 1 },
      ['no name'],
      'one',
    ]) {
      const { status, body } = await api.post('/query', { database: 'notes', query: 'water', collections });
      expect([collections, status, body.error!.message]).toEqual([
        collections,
        422,
        expect.stringMatching(/^collections/),
      ]);
    }
    const both = await api.post('/query', {
      database: 'notes',
      query: 'water',
      collection: 'one',
      collections: ['two'],
    });
    expect([both.status, both.body.error!.code]).toEqual([400, 'INVALID_PARAMETERS']);
  });

  test('recency bias moves recently changed items to the front', async () => {
    const newer = { id: 'kettle-news', title: 'Kettle news', text: 'The kettle boils water. '.repeat(3) };
    const older = { id: 'kettle-old', title: 'Kettle', text: 'Kettle water: the kettle boils water.' };
    const ingest = async (item: object, rest: object = {}) =>
      api.ingest({ database: 'ages', app_knowledge: JSON.stringify([item]), ...rest });
    await api.createDatabase('ages');
    for (const item of [older, newer]) {
      await ingest(item);
      await api.ended('ages', item.id);
    }
    const ranked = (recency_bias: number) => query({ query: 'kettle water', database: 'ages', recency_bias }).then(ids);
    expect(await ranked(1)).toEqual(['kettle-news', 'kettle-old']);
    await ingest(older, { upsert: 'true' });
    await api.ended('ages', older.id);
    expect(await ranked(1)).toEqual(['kettle-old', 'kettle-news']);
    for (const recency_bias of [-0.1, 1.1, 'new']) {
      expect((await api.post('/query', { database: 'notes', query: 'x', recency_bias })).status).toBe(422);
    }
  });

  test('scores run from 0 to 1 and fall, in every mode and with every influence', async () => {
    for (const query_by of ['hybrid', 'text', 'vector']) {
      for (const influence of [{}, { recency_bias: 0.4 }, { collections: { one: 3, two: 1 } }]) {
        const { chunks } = await query({ query: 'boiling water for tea', query_by, ...influence });
        const scores = chunks.map((chunk: { score: number }) => chunk.score);
        expect(scores.length).toBeGreaterThan(1);
        for (const score of scores) expect(score >= 0 && score <= 1).toBe(true);
        expect(scores).toEqual([...scores].sort((a, b) => b - a));
      }
    }
    expect((await query({ query: 'boiling water for tea' })).chunks[0].score).toBeCloseTo(1);
  });

  test('text search supports or, and, phrase', async () => {
    const text = (words: string, operator: string) => query({ query: words, operator, query_by: 'text' }).then(ids);
    expect((await text('queen kettle', 'or')).sort()).toEqual(['bees', 'manual']);
    expect(await text('queen kettle', 'and')).toEqual([]);
    expect(await text('honey bee colony', 'phrase')).toEqual(['bees']);
    expect(await text('colony honey bee', 'phrase')).toEqual([]);
  });

  test('a response has the fields of the specification, and the graph around the hits', async () => {
    const data = await query({ query: 'first electric railway', ids: ['rail'] });
    expect(data.chunks[0]).toEqual({
      chunk_id: expect.stringMatching(/^chk_/),
      source_id: 'rail',
      title: null,
      location: {},
      text: NOTES[2]!.text,
      highlights: [
        [18, 23],
        [24, 32],
        [33, 40],
      ],
      score: expect.any(Number),
      metadata: {},
      collection: 'one',
      type: 'memory',
    });
    expect(data.graph.entities.map((entity: { name: string }) => entity.name)).toContain('Berlin');
    expect(data.graph.relations.length).toBeGreaterThan(0);
    for (const relation of data.graph.relations) expect(relation.evidence[0].sentence).not.toBe('');
    expect((await query({ query: 'first electric railway', graph_context: false })).graph).toEqual({
      entities: [],
      relations: [],
    });
  });

  test('a hit whose item has been replaced a moment ago is left out, with its part of the graph', async () => {
    await api.createDatabase('stale');
    const memories = [
      { id: 'old', text: 'Siemens built an electric railway in Berlin.' },
      { id: 'current', text: 'Škoda built an electric railway in Prague.' },
    ];
    await api.ingest({ database: 'stale', memories: JSON.stringify(memories) });
    for (const { id } of memories) await api.ended('stale', id);
    const ask = async () => {
      const data = await query({ database: 'stale', query: 'electric railway in Berlin', max_results: 1 });
      return [ids(data), data.graph.entities.map((entity: { name: string }) => entity.name)];
    };
    expect(await ask()).toEqual([['old'], expect.arrayContaining(['Berlin'])]);
    // As between the replacement of the item and that of its rows in the search index.
    await withDb(sharedProduct().mongodbUri, (db) =>
      db
        .collection('items')
        .updateOne({ org: 'queries', database: 'stale', id: 'old' }, { $inc: { version: 1, served_version: 1 } }),
    );
    const [found, names] = await ask();
    expect(found).toEqual(['current']);
    expect(names).toContain('Prague');
    expect(names).not.toContain('Berlin');
  });

  test('metadata is returned with the hit', async () => {
    expect((await query({ query: 'kettle' })).chunks[0]).toMatchObject({
      title: 'Kettle manual',
      metadata: { brand: 'Acme' },
    });
  });

  test('the fields of a client keep their values: the place in the document is in `location`', async () => {
    const document = { name: 'rules.md', content: '# Opening hours\n\nThe pump room opens at dawn.' };
    const document_metadata = JSON.stringify([{ id: 'rules', metadata: { headings: 'mine' } }]);
    await api.ingest({ database: 'notes', document_metadata }, [document]);
    await api.ended('notes', 'rules');
    const [chunk] = (await query({ query: 'pump room', ids: ['rules'] })).chunks;
    expect([chunk.metadata, chunk.location]).toEqual([{ headings: 'mine' }, { headings: ['Opening hours'] }]);
    const [manual] = (await query({ query: 'kettle', ids: ['manual'] })).chunks;
    expect([manual.metadata, manual.location]).toEqual([
      { brand: 'Acme', page: 'front', rows: 7, headings: 'none', sheet: 'A4', location: 'shelf' },
      {},
    ]);
  });

  test('the parts of a score are returned on request, and make up the score', async () => {
    const question = { query: 'boiling water', collections: { one: 1, two: 4 }, recency_bias: 0.25 };
    const { chunks } = await query({ ...question, explain: true });
    expect(chunks.length).toBeGreaterThan(1);
    for (const { collection, score, explain } of chunks) {
      expect(explain).toMatchObject({ weight: collection === 'two' ? 1 : 0.25, rating: 0 });
      expect(explain.relevance).toBeCloseTo(0.35 * (explain.text ?? 0) + 0.65 * (explain.vector ?? 0));
      expect(score).toBeCloseTo(explain.weight * (0.75 * explain.relevance + 0.25 * explain.recency));
    }
    const [plain] = (await query({ query: 'kettle', query_by: 'text', explain: true })).chunks;
    expect(plain.explain).toEqual({ text: 1, vector: null, relevance: 1, weight: 1, recency: null, rating: 0 });
    expect((await query({ query: 'kettle' })).chunks[0]).not.toHaveProperty('explain');
  });

  test('queries with special characters or without words are no errors', async () => {
    for (const text of ['"', "it's (really) AND OR NOT *", 'a:b^2~', '…', 'the of and', '日本語']) {
      expect([text, (await api.post('/query', { database: 'notes', query: text })).status]).toEqual([text, 200]);
    }
    expect((await api.post('/query', { database: 'notes', query: '   ' })).status).toBe(422);
    expect((await api.post('/query', { database: 'notes' })).status).toBe(400);
    expect((await api.post('/query', { database: 'notes', query: 'x', max_results: 51 })).status).toBe(422);
  });
});

describe('texts in several languages', () => {
  const TEXTS: Record<string, string> = {
    en: 'Two pilots were flying old boats along the coast. Nobody had measured the distribution of pressure.',
    de: 'Die alten Häuser am See werden im Sommer verkauft. Der Makler schickte gestern zwei Rechnungen, aber der Zahlungseingang fehlt.',
    fr: 'Les élèves mangeaient dans le jardin, et les chevaux dormaient près de la rivière.',
    es: 'Las canciones más bonitas se escuchaban en los pueblos de la montaña.',
    ru: 'Дети играли в саду, а старые книги лежали на столе у окна.',
    sv: 'Flickorna sprang genom skogen och plockade blåbär till sina mormödrar.',
    pl: 'Klientka zamówiła wczoraj książki i zapłaciła fakturą. Pracownicy wysłali przesyłkę do Krakowa.',
    uk: 'Компанія надіслала рахунки працівникам, а вони ще не підписали нові договори.',
    hi: 'लड़कों ने नदियों के किनारे किताबें पढ़ीं और कंपनी को भुगतान भेजा।',
    zh: '我们在上海研究机翼的升力，今年发表了论文。',
    ja: '昨日、東京で新しい図書館を見学しました。',
    th: 'แมวของฉันชอบนอนบนโต๊ะไม้ในห้องครัว',
    short: 'Anna plays piano at the café',
  };
  let api: Client;

  beforeAll(async () => {
    api = await clientOf('languages');
    await api.createDatabase('world');
    const memories = Object.entries(TEXTS).map(([id, text]) => ({ id, text }));
    await api.ingest({ database: 'world', memories: JSON.stringify(memories) });
    for (const { id } of memories) expect(await api.ended('world', id)).toMatchObject({ indexing_status: 'completed' });
  });

  const find = (query: string, operator: string) => api.idsFound('world', query, { operator, query_by: 'text' });

  test.each([
    ['en', 'flies boat'],
    ['en', 'pressures distributed'],
    ['de', 'Haus'],
    ['de', 'die Rechnung des Maklers'],
    ['fr', 'élève manger cheval'],
    ['fr', 'eleves jardins riviere'],
    ['es', 'canción montañas pueblo'],
    ['ru', 'книга столы'],
    ['sv', 'flicka skogar'],
    ['de', 'Zahlung'],
    ['de', 'Eingang der Rechnung'],
    ['pl', 'faktury i książka'],
    ['pl', 'pracownicy i przesyłki'],
    ['uk', 'рахунків'],
    ['uk', 'договору працівника'],
    ['hi', 'लड़का नदी'],
    ['hi', 'किताब'],
    ['zh', '升力'],
    ['zh', '上海 论文'],
    ['ja', '図書館'],
    ['th', 'โต๊ะ'],
    ['short', 'playing cafe'],
    ['short', 'CAFÉS pianos'],
  ])('the text %s is found by "%s"', async (id, query) => {
    expect(await find(query, 'and')).toEqual([id]);
    expect((await find(query, 'or'))[0]).toBe(id);
  });
});
