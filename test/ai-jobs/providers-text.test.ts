import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import type { FeatureOutput } from '../../domain/ai-jobs/features.js';
import type { AiProviders, ValidatedInput } from '../../domain/ai-jobs/provider.js';
import { noCheckpoints } from '../../domain/checkpoints.js';
import { createAiProviders } from '../../providers/ai-jobs/index.js';
import type { Extractor } from '../../providers/extraction/index.js';
import { findChildren } from '../support/child-processes.js';
import { PATIENCE_MS } from '../support/eventually.js';
import { startExtractor } from '../support/extractor.js';
import { failsForGood } from './permanent-error.js';

type Local =
  | 'text/language_detection'
  | 'text/sentiment_analysis'
  | 'text/named_entity_recognition'
  | 'text/keyword_extraction'
  | 'text/summarize';
const NAMES: Record<Local, string> = {
  'text/language_detection': 'eld',
  'text/sentiment_analysis': 'wink',
  'text/named_entity_recognition': 'wink',
  'text/keyword_extraction': 'wink',
  'text/summarize': 'wink',
};
let extractor: Extractor;
let providers: AiProviders;
let article: string;

beforeAll(async () => {
  extractor = startExtractor();
  providers = createAiProviders({ extractor, idleMs: PATIENCE_MS });
  article = await readFile(join(process.cwd(), 'test/fixtures/harbour-article.txt'), 'utf8');
});
afterAll(async () => {
  await providers.close();
  await extractor.close();
});

async function run<S extends Local>(
  subfeature: S,
  input: ValidatedInput<S>,
  using = providers,
  signal = new AbortController().signal,
): Promise<FeatureOutput<S>> {
  const options = { model: null, checkpoints: noCheckpoints };
  const result = await using.find(subfeature, NAMES[subfeature])!.run(input, options, signal);
  return result.output as FeatureOutput<S>;
}

describe('language detection', () => {
  test.each([
    ['en', 'The library opens at nine, and everybody who lives in the district may borrow six books.'],
    ['de', 'Die Bibliothek öffnet um neun Uhr, und wer im Bezirk wohnt, darf sechs Bücher ausleihen.'],
    ['fr', 'La bibliothèque ouvre à neuf heures et chaque habitant peut emprunter six livres.'],
    ['es', 'La biblioteca abre a las nueve y cada vecino puede llevarse seis libros prestados.'],
    ['it', 'La biblioteca apre alle nove e ogni abitante può prendere in prestito sei libri.'],
    ['pt', 'A biblioteca abre às nove horas e cada morador pode levar seis livros emprestados.'],
    ['nl', 'De bibliotheek gaat om negen uur open en iedere bewoner mag zes boeken lenen.'],
    ['sv', 'Biblioteket öppnar klockan nio och alla som bor i området får låna sex böcker.'],
    ['pl', 'Biblioteka jest otwarta od dziewiątej, a każdy mieszkaniec może wypożyczyć sześć książek.'],
    ['tr', 'Kütüphane saat dokuzda açılıyor ve mahallede oturan herkes altı kitap alabiliyor.'],
    ['ru', 'Библиотека открывается в девять часов, и каждый житель может взять шесть книг.'],
    ['uk', 'Бібліотека відчиняється о дев’ятій годині, і кожен мешканець може взяти шість книжок.'],
    ['el', 'Η βιβλιοθήκη ανοίγει στις εννέα και κάθε κάτοικος μπορεί να δανειστεί έξι βιβλία.'],
    ['ar', 'تفتح المكتبة أبوابها في التاسعة صباحا ويمكن لكل ساكن استعارة ستة كتب.'],
    ['ja', '図書館は九時に開館し、住民なら誰でも本を六冊借りることができます。'],
    ['zh', '图书馆九点开门，每位居民可以借六本书。'],
  ])('%s is recognised', async (language, text) => {
    const output = await run('text/language_detection', { text });
    expect(output).toMatchObject({ language, reliable: true });
    expect(output.candidates[0]!.confidence).toBeGreaterThan(0.6);
  });

  test('candidates have English names and are sorted, the best first', async () => {
    const { candidates } = await run('text/language_detection', {
      text: 'Havnen har vært stengt siden mandag morgen.',
    });
    expect(
      candidates
        .slice(0, 2)
        .map((candidate) => candidate.display_name)
        .sort(),
    ).toEqual(['Danish', 'Norwegian']);
    const confidences = candidates.map(({ confidence }) => confidence);
    expect(confidences).toEqual([...confidences].sort((a, b) => b - a));
  });

  test('text without a language has no language', async () => {
    expect(await run('text/language_detection', { text: '12345 !!! 67' })).toEqual({
      language: null,
      reliable: false,
      candidates: [],
    });
  });
});

describe('sentiment analysis', () => {
  const REVIEWS: [string, string][] = [
    ['positive', 'I love this phone. The camera is fantastic and the battery lasts all day.'],
    ['positive', 'Wonderful staff, a beautiful room and the best breakfast we had in years.'],
    ['positive', "This isn't bad at all, quite enjoyable."],
    ['positive', 'The support team solved my problem within minutes. Great service, thank you!'],
    ['negative', 'The hotel room was dirty, the staff were rude and we will never come back.'],
    ['negative', 'I am not happy with the service at all.'],
    ['negative', 'Worst purchase ever, complete waste of money!'],
    ['negative', 'The delivery was late again and the box arrived broken.'],
    ['neutral', 'The train leaves at nine from platform four.'],
    ['neutral', 'The meeting takes place on Tuesday in room twelve.'],
    ['mixed', 'The screen is gorgeous. Unfortunately the battery died after two weeks and support refused to help.'],
    ['mixed', 'The food was excellent and fresh. But the waiter was rude. And our table was dirty.'],
  ];
  test.each(REVIEWS)('%s: %s', async (sentiment, text) => {
    expect(await run('text/sentiment_analysis', { text })).toMatchObject({ sentiment });
  });

  test('each sentence has a sentiment, and the score is the mean of those that are not neutral', async () => {
    const text = 'The view was lovely.\nThe bed was horrible. We arrived on Monday.';
    const { sentences, score } = await run('text/sentiment_analysis', { text });
    expect(sentences.map(({ text, sentiment }) => [text, sentiment])).toEqual([
      ['The view was lovely.', 'positive'],
      ['The bed was horrible.', 'negative'],
      ['We arrived on Monday.', 'neutral'],
    ]);
    expect(score).toBeCloseTo((sentences[0]!.score + sentences[1]!.score) / 2, 2);
  });
});

describe('named entity recognition', () => {
  const TEXT =
    'Barack Obama met Angela Merkel in Berlin at 5 pm on 3 March 2021. The European Central Bank raised rates by 0.5%, said ' +
    'Christine Lagarde. Microsoft bought GitHub for $7.5 billion. Marie Curie was born in Warsaw and worked at the ' +
    'University of Paris. Apple was led by Tim Cook. Write to press@bank.example or see https://bank.example/news. ' +
    'Later Barack Obama left Berlin.';

  test('people, organisations, places, dates, amounts and addresses are distinguished', async () => {
    const { entities } = await run('text/named_entity_recognition', { text: TEXT });
    const ofType = (type: string) => entities.filter((entity) => entity.type === type).map((entity) => entity.text);
    expect(ofType('person')).toEqual(['Barack Obama', 'Angela Merkel', 'Christine Lagarde', 'Marie Curie', 'Tim Cook']);
    expect(ofType('organization')).toEqual(
      expect.arrayContaining(['European Central Bank', 'Microsoft', 'GitHub', 'University of Paris']),
    );
    expect(ofType('place')).toEqual(['Berlin', 'Warsaw']);
    expect(ofType('date')).toEqual(['3 March 2021']);
    expect(ofType('money')).toEqual(['$7.5 billion']);
    expect(ofType('percent')).toEqual(['0.5%']);
    expect(ofType('email')).toEqual(['press@bank.example']);
    expect(ofType('url')).toEqual(['https://bank.example/news']);
  });

  test('the offsets of every mention are right', async () => {
    const { entities } = await run('text/named_entity_recognition', { text: TEXT });
    for (const { text, mentions } of entities)
      for (const { start, end } of mentions) expect(TEXT.slice(start, end)).toBe(text);
    expect(entities.find(({ text }) => text === 'Barack Obama')!.mentions).toHaveLength(2);
    const spans = entities.flatMap(({ mentions }) => mentions).sort((a, b) => a.start - b.start);
    for (const [index, span] of spans.slice(1).entries()) expect(span.start).toBeGreaterThanOrEqual(spans[index]!.end);
  });

  test('names of several words are complete and have no titles', async () => {
    const text =
      'In London, the High Court ruled against Siemens. Lionel Messi left Paris Saint-Germain. President William Ruto ' +
      'welcomed Amina Mohamed of the World Bank.';
    const { entities } = await run('text/named_entity_recognition', { text });
    expect(entities.map((entity) => entity.text)).toEqual([
      'London',
      'High Court',
      'Siemens',
      'Lionel Messi',
      'Paris Saint-Germain',
      'William Ruto',
      'Amina Mohamed',
      'World Bank',
    ]);
  });

  test('a name broken over two lines is one name', async () => {
    const text = 'The operation is led by Ingrid\nHalvorsen of the Norwegian Coastal\nAdministration.';
    const { entities } = await run('text/named_entity_recognition', { text });
    expect(entities.map((entity) => [entity.text, entity.type])).toEqual([
      ['Ingrid Halvorsen', 'person'],
      ['Norwegian Coastal Administration', 'organization'],
    ]);
  });
});

describe('keyword extraction', () => {
  test('the keywords of a news story are its topics', async () => {
    const { keywords } = await run('text/keyword_extraction', { text: article, max_keywords: 8 });
    const words = keywords.map(({ keyword }) => keyword);
    expect(words.slice(0, 4)).toEqual(
      expect.arrayContaining(['oil spill', 'container vessel', 'oil recovery vessel', 'Vestby']),
    );
    expect(words).toHaveLength(8);
    expect(keywords[0]!.importance).toBe(1);
    expect(keywords.find(({ keyword }) => keyword === 'oil spill')!.count).toBe(2);
  });
});

describe('summaries', () => {
  test('a summary quotes whole sentences about the topic, in their order', async () => {
    const { summary } = await run('text/summarize', { text: article, sentences: 3 });
    const flat = article.replace(/\s+/g, ' ');
    const sentences = summary.match(/[^.]+\./g)!.map((sentence) => sentence.trim());
    expect(sentences).toHaveLength(3);
    const places = sentences.map((sentence) => flat.indexOf(sentence));
    expect(places).not.toContain(-1);
    expect(places).toEqual([...places].sort((a, b) => a - b));
    expect(summary).toMatch(/oil spill/);
    expect(summary.length).toBeLessThan(article.length / 3);
  });

  test('a text shorter than the requested summary is returned whole', async () => {
    const text = 'The harbour is closed to ships until Friday. Ferries leave from the old quay.';
    expect(await run('text/summarize', { text, sentences: 5 })).toEqual({ summary: text });
  });
});

describe('original responses', () => {
  const TEXT = 'The view from Vestby was lovely on 3 March 2021. The bed was horrible.';

  test.each<[Local, object, object]>([
    ['text/language_detection', {}, { language: 'en', scores: { en: expect.any(Number) }, reliable: true }],
    [
      'text/sentiment_analysis',
      {},
      {
        sentences: [{ sentence: expect.stringContaining('lovely'), sentiment: expect.any(Number) }, expect.anything()],
      },
    ],
    [
      'text/named_entity_recognition',
      {},
      { entities: expect.arrayContaining([{ value: expect.stringContaining('March'), type: 'DATE' }]) },
    ],
    [
      'text/keyword_extraction',
      { max_keywords: 3 },
      { entities: expect.arrayContaining([expect.objectContaining({ name: expect.any(String) })]) },
    ],
    ['text/summarize', { sentences: 1 }, { sentenceWiseImportance: expect.any(Array) }],
  ])("%s returns its library's own result on request", async (subfeature, settings, expected) => {
    const provider = providers.find(subfeature, NAMES[subfeature])!;
    const run = (original: boolean) =>
      provider.run(
        { text: TEXT, ...settings } as never,
        { model: null, checkpoints: noCheckpoints, original },
        new AbortController().signal,
      );
    const shown = await run(true);
    expect(shown.original).toMatchObject(expected);
    expect(shown.original).not.toEqual(shown.output);
    expect((await run(false)).original).toBeUndefined();
  });
});

test('a process reads one text after the other, because its models take a hundred times as long to load', async () => {
  const processes = () => findChildren(process.pid, 'text/analyses');
  const analyse = async () => {
    for (const subfeature of ['text/sentiment_analysis', 'text/named_entity_recognition'] as const)
      await run(subfeature, { text: 'The harbour of Vestby was closed on Monday.' });
    await run('text/summarize', { text: article, sentences: 1 });
    await run('text/keyword_extraction', { text: article, max_keywords: 3 });
  };
  await analyse();
  const before = await processes();
  await analyse();
  expect(before).toHaveLength(1);
  expect(await processes()).toEqual(before);
});

describe('texts that cannot be analysed', () => {
  const GERMAN = 'Der Hafen ist seit Montag geschlossen, weil ein Schiff auf Grund gelaufen ist und Öl verliert.';
  test('a text in a language that the provider does not read is rejected', async () => {
    await failsForGood(run('text/sentiment_analysis', { text: GERMAN }), /reads English; the text seems to be German/);
    await failsForGood(run('text/keyword_extraction', { text: GERMAN, max_keywords: 5 }), /German/);
  });

  test('names and exclamations are too short to count as another language', async () => {
    const { entities } = await run('text/named_entity_recognition', { text: 'Angela Merkel, Berlin' });
    expect(entities.map((entity) => entity.text)).toEqual(['Angela Merkel', 'Berlin']);
    expect(await run('text/sentiment_analysis', { text: 'Superb!' })).toMatchObject({ sentiment: 'positive' });
  });

  test.each([
    ['Chinese', '房间很脏，服务很差，我再也不会来了。'],
    ['Chinese', '你好'],
    ['Japanese', 'ありがとう'],
    ['Korean', '안녕하세요'],
    ['Russian', 'Ужасный отель, больше не приеду.'],
    ['Greek', 'Τέλεια!'],
    ['Hebrew', 'שלום עולם'],
    ['Arabic', 'الفندق سيئ جدا'],
  ])('a short text in the script of %s is rejected', async (language, text) => {
    await failsForGood(run('text/sentiment_analysis', { text }), new RegExp(`the text seems to be ${language}`));
  });

  test.each([
    'α and β decay',
    'Ω 5 V',
    '∇·E = ρ/ε₀',
    'α + β = π r²',
    'Tesla 𝘀𝘁𝗼𝗰𝗸 𝗽𝗿𝗶𝗰𝗲',
    'Angela Merkel 安格拉',
    '😀',
  ])('a text with few letters of another script is analysed: %s', async (text) => {
    expect(await run('text/sentiment_analysis', { text })).toMatchObject({ sentiment: 'neutral' });
  });

  test('errors name the exceeded limit: length, time', async () => {
    const strict = createAiProviders({ extractor, limits: { textCharacters: 100 } });
    await failsForGood(
      run('text/summarize', { text: article, sentences: 3 }, strict),
      /characters; at most 100 are allowed/,
    );
    await strict.close();
    const tooFast = createAiProviders({ extractor, limits: { textTimeoutMs: 1 } });
    await failsForGood(run('text/summarize', { text: article, sentences: 3 }, tooFast), /took too much time/);
    await tooFast.close();
  });

  test('half a megabyte without a space is analysed, and so is half a megabyte of sentences', async () => {
    const word = `${'a'.repeat(499_980)} the end is good.`;
    expect((await run('text/sentiment_analysis', { text: word })).sentences).toHaveLength(1);
    expect((await run('text/named_entity_recognition', { text: word })).entities).toEqual([]);
    const long = article.repeat(300).slice(0, 500_000);
    const { keywords } = await run('text/keyword_extraction', { text: long, max_keywords: 3 });
    expect(keywords.map(({ keyword }) => keyword)).toContain('oil spill');
  });

  test('an aborted analysis ends with the reason of the signal', async () => {
    const reason = new Error('stopped');
    await expect(
      run('text/summarize', { text: article, sentences: 3 }, providers, AbortSignal.abort(reason)),
    ).rejects.toBe(reason);
  });
});
