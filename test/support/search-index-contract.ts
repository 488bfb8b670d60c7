import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { indexedMetadata, NO_METADATA, tagOf } from '../../domain/content/indexed-metadata.js';
import type { MetadataFilter } from '../../domain/content/metadata-filters.js';
import type { IndexRow, SearchIndex, SearchRequest, SourceFilter } from '../../domain/content/search.js';

export const row = (chunk_id: string, text: string, rest: Partial<IndexRow> = {}): IndexRow => ({
  chunk_id,
  source_id: chunk_id.split(':')[0]!,
  collection: 'papers',
  type: 'knowledge',
  text,
  vector: null,
  metadata: NO_METADATA,
  ...rest,
});
export const question = (query: string, rest: Partial<SearchRequest> = {}): SearchRequest => ({
  mode: 'text',
  query,
  operator: 'or',
  vector: null,
  limit: 10,
  ...rest,
});
export const vector = (...numbers: number[]) => Float32Array.from(numbers);

const PAPERS = [
  row('wing:0', 'The lift of a wing in a propeller slipstream', { vector: vector(1, 0, 0, 0) }),
  row('heat:0', 'Heat transfer to a flat plate. The transfer of heat was measured', { vector: vector(0, 1, 0, 0) }),
  row('shock:0', 'Shock waves and the boundary layer on a flat plate', { vector: vector(0, 0.8, 0.6, 0) }),
];

/** Also syntax of other query languages. */
const WITHOUT_WORDS = [
  '',
  '   ',
  'the of and',
  '"',
  '"unclosed',
  '((',
  'a AND OR NOT',
  'x:y^2~ +z -w',
  '\u0000',
  '😀',
  "';--",
  '\\',
  '*',
  '𝔘\ud800',
  'ab '.repeat(5_000),
];

/**
 * The tests that every engine of the search index passes.
 * @param open connects to the engine, as another process does; every call sees the same tables
 * @param times when the searches are tested
 */
export function testSearchIndex(
  open: () => SearchIndex,
  times: readonly string[] = ['before compaction', 'after compaction'],
): void {
  let index: SearchIndex;
  let table: string;
  let tables = 0;

  beforeAll(() => {
    index = open();
  });
  afterAll(() => index.close());
  beforeEach(async () => {
    tables += 1;
    table = `tnt_${tables}`;
    await index.create(table);
  });

  const found = async (request: SearchRequest, by = index) =>
    (await by.search(table, request)).map(({ chunk_id }) => chunk_id);

  describe.each(times)('search %s', (when) => {
    const store = async (rows: IndexRow[]) => {
      await index.write(table, rows);
      if (when === 'after compaction') await index.compact(table);
    };

    test('text finds inflected words, best first, and ignores stop words', async () => {
      await store(PAPERS);
      expect(await found(question('wings'))).toEqual(['wing:0']);
      expect(await found(question('plates heated the'))).toEqual(['heat:0', 'shock:0']);
    });

    test('"and" requires all words, "phrase" all words in order', async () => {
      await store(PAPERS);
      expect(await found(question('heat plate', { operator: 'and' }))).toEqual(['heat:0']);
      expect(await found(question('heat transfer', { operator: 'phrase' }))).toEqual(['heat:0']);
      expect(await found(question('transfer heat', { operator: 'phrase' }))).toEqual([]);
      expect(await found(question('waves and the boundary layer', { operator: 'phrase' }))).toEqual(['shock:0']);
      expect(await found(question('heat zebra', { operator: 'and' }))).toEqual([]);
    });

    test('vector ranks by cosine similarity and ignores rows without a vector', async () => {
      await store([...PAPERS, row('none:0', 'no vector')]);
      const request = question('', { mode: 'vector', vector: vector(0, 1, 0, 0) });
      const hits = await index.search(table, request);
      expect(hits.map(({ chunk_id }) => chunk_id)).toEqual(['heat:0', 'shock:0', 'wing:0']);
      expect(hits[0]!.score).toBeCloseTo(1);
      expect(hits[1]!.score).toBeCloseTo(0.8);
    });

    test('hybrid combines both rankings; without a vector it is text search', async () => {
      await store(PAPERS);
      const mixed = question('flat plate', { mode: 'hybrid', vector: vector(0, 0.8, 0.6, 0) });
      expect((await found(mixed))[0]).toBe('shock:0');
      expect(await found(mixed)).toContain('wing:0');
      expect(await found({ ...mixed, vector: null })).not.toContain('wing:0');
      expect(await found({ ...mixed, limit: 1 })).toHaveLength(1);
    });

    test('filters restrict every mode, with any characters in their values', async () => {
      const odd = `it's "odd" \\ -- ; % 名`;
      await store([
        row('a:0', 'plate', { collection: odd, type: 'memory', vector: vector(1, 0) }),
        row('b:0', 'plate', { vector: vector(1, 0) }),
        row("c'c:0", 'plate', { vector: vector(1, 0) }),
      ]);
      for (const mode of ['text', 'vector', 'hybrid'] as const) {
        const findIds = (rest: Partial<SearchRequest>) =>
          found(question('plate', { mode, vector: vector(1, 0), ...rest }));
        expect(await findIds({ collections: [odd] })).toEqual(['a:0']);
        expect(await findIds({ collections: ["' OR 1=1 --"] })).toEqual([]);
        expect(await findIds({ type: 'memory' })).toEqual(['a:0']);
        expect(await findIds({ sources: [{ ids: ["c'c"] }] })).toEqual(["c'c:0"]);
        expect((await findIds({ sources: [{ ids: ['a', 'b'] }], collections: ['papers', odd] })).sort()).toEqual([
          'a:0',
          'b:0',
        ]);
        expect(await findIds({ collections: [] })).toEqual([]);
      }
    });

    test('metadata filters apply during the search in every mode, so that selective filters return enough rows', async () => {
      const metadata = (n: number) =>
        indexedMetadata([{ name: 'n', data_type: 'INT32' }], n % 100 === 0 ? { n, rare: true } : { n }, {});
      await store(
        Array.from({ length: 1_000 }, (_, n) =>
          row(`n${n}:0`, 'plate', { vector: vector(1, n), metadata: metadata(n) }),
        ),
      );
      const rare = { tags: [tagOf('metadata', 'rare', true)] };
      const range = { field: 'n', comparison: '>=', value: 500 } as const;
      for (const mode of ['text', 'vector', 'hybrid'] as const) {
        const findIds = (filter: MetadataFilter) =>
          found(question('plate', { mode, vector: vector(1, 0), metadata: filter, limit: 100 }));
        expect((await findIds(rare)).sort()).toEqual(Array.from({ length: 10 }, (_, n) => `n${n * 100}:0`).sort());
        expect((await findIds({ all: [rare, range] })).sort()).toEqual([5, 6, 7, 8, 9].map((n) => `n${n * 100}:0`));
        expect(await findIds({ all: [rare, { not: rare }] })).toEqual([]);
        expect(await findIds({ not: { any: [range, { not: range }] } })).toEqual([]);
      }
    });

    test('text in scripts without spaces is found by its words, whatever is next to them', async () => {
      await store([
        row('ja:0', '平板への熱伝達の研究'),
        row('zh:0', '机翼升力'),
        row('th:0', 'แมวนอนบนโต๊ะ'),
        row('ko:0', '학교에서 공부했다'),
      ]);
      expect(await found(question('熱伝達', { operator: 'phrase' }))).toEqual(['ja:0']);
      expect(await found(question('伝熱達', { operator: 'phrase' }))).toEqual([]);
      expect(await found(question('伝熱', { operator: 'and' }))).toEqual([]);
      expect(await found(question('翼'))).toEqual(['zh:0']);
      for (const operator of ['or', 'and', 'phrase'] as const) {
        expect(await found(question('升力', { operator }))).toEqual(['zh:0']);
        expect(await found(question('โต๊ะ', { operator }))).toEqual(['th:0']);
        expect(await found(question('학교', { operator }))).toEqual(['ko:0']);
      }
    });

    test('texts of several languages in one table are found by other forms of their words, with and without accents', async () => {
      await store([
        ...PAPERS,
        row('de:0', 'Alte Häuser und die Straße am See', { language: 'de' }),
        row('fr:0', 'Les élèves mangeaient au café', { language: 'fr' }),
        row('ru:0', 'Дети играли в саду с ёжиком', { language: 'ru' }),
        row('pl:0', 'Łódź nad Wisłą', { language: 'other' }),
      ]);
      for (const operator of ['or', 'and', 'phrase'] as const) {
        const findIds = (query: string) => found(question(query, { operator }));
        expect(await findIds('altes Haus')).toEqual(['de:0']);
        expect(await findIds('STRASSE')).toEqual(['de:0']);
        expect(await findIds('eleve')).toEqual(['fr:0']);
        expect(await findIds('ежик')).toEqual(['ru:0']);
        expect(await findIds('lodz')).toEqual(['pl:0']);
        expect(await findIds('wings')).toEqual(['wing:0']);
      }
      expect(await found(question('die Straße und das Haus', { operator: 'and' }))).toEqual(['de:0']);
      expect(await found(question('alte Straße', { operator: 'phrase' }))).toEqual([]);
    });

    test('queries without words find nothing, in every mode and with every operator', async () => {
      await store(PAPERS);
      for (const query of WITHOUT_WORDS) {
        for (const mode of ['text', 'hybrid'] as const) {
          for (const operator of ['or', 'and', 'phrase'] as const) {
            const hits = await found(question(query, { mode, operator }));
            expect({ query, mode, operator, hits }).toEqual({ query, mode, operator, hits: [] });
          }
        }
      }
    });
  });

  test('a vector of zeros, which is similar to nothing, breaks neither the write nor the search', async () => {
    await index.write(table, [...PAPERS, row('zero:0', 'plate', { vector: vector(0, 0, 0, 0) })]);
    expect((await found(question('plate'))).sort()).toEqual(['heat:0', 'shock:0', 'zero:0']);
    const nearest = question('', { mode: 'vector', vector: vector(0, 1, 0, 0), limit: 2 });
    expect(await found(nearest)).toEqual(['heat:0', 'shock:0']);
    const hybrid = question('propeller', { mode: 'hybrid', vector: vector(0, 0, 0, 0) });
    expect(await found(hybrid)).toContain('wing:0');
  });

  test('a new table is empty for every mode', async () => {
    for (const mode of ['text', 'vector', 'hybrid'] as const) {
      expect(await found(question('plate', { mode, vector: vector(1, 0) }))).toEqual([]);
    }
  });

  test('a table can be warmed before and after it has rows, vectors and indexes', async () => {
    await index.warm(table);
    await index.write(table, PAPERS);
    await index.warm(table);
    await index.compact(table);
    await index.warm(table);
    expect(await found(question('wing'))).toEqual(['wing:0']);
    await expect(index.warm('tnt_missing')).rejects.toThrow(/not found/);
  });

  test('rows that are not indexed yet are found together with indexed rows', async () => {
    await index.write(table, [row('old:0', 'plate and many other words that make it long')]);
    await index.compact(table);
    await index.write(table, [row('new:0', 'plate')]);
    expect((await found(question('plate'))).sort()).toEqual(['new:0', 'old:0']);
  });

  test('many unindexed rows are returned best first', async () => {
    const rows = Array.from({ length: 300 }, (_, n) => row(`n${n}:0`, `plate ${'filler '.repeat(300 - n)}`));
    await index.write(table, rows);
    expect(await found(question('plate', { limit: 3 }))).toEqual(['n299:0', 'n298:0', 'n297:0']);
  });

  test('replacing removes the named rows only', async () => {
    await index.write(table, [row('a:0', 'plate one'), row('a:1', 'plate two'), row('b:0', 'plate')]);
    await index.write(table, [row('a:9', 'plate three')], ['a:0', 'a:1', "it's not there"]);
    expect((await found(question('plate'))).sort()).toEqual(['a:9', 'b:0']);
    await index.write(table, [], ['a:9']);
    expect(await found(question('plate'))).toEqual(['b:0']);
  });

  test('rows that are replaced are found at all times, also by another process', async () => {
    const other = open();
    const rows = (round: number) => Array.from({ length: 200 }, (_, n) => row(`a:${n}`, `plate ${round}`));
    await index.write(table, rows(0));
    const counts = new Set<number>();
    let replacing = true;
    const searching = (async () => {
      while (replacing) counts.add((await found(question('plate', { limit: 300 }), other)).length);
    })();
    const ids = rows(0).map(({ chunk_id }) => chunk_id);
    for (let round = 1; round <= 10; round += 1) await index.write(table, rows(round), ids);
    replacing = false;
    await searching;
    expect([...counts]).toEqual([200]);
    expect(await found(question('plate', { limit: 300 }), other)).toHaveLength(200);
    await other.close();
  });

  test('a row that is replaced keeps no metadata value and no vector of the row before', async () => {
    const fields = [
      { name: 'year', data_type: 'INT32' },
      { name: 'place', data_type: 'VARCHAR' },
    ] as const;
    const metadata = indexedMetadata(fields, { year: 1999, place: 'pier' }, {});
    const filters: MetadataFilter[] = [
      { field: 'year', comparison: '>=', value: 0 },
      { field: 'place', comparison: '>=', value: 'a' },
      { tags: [tagOf('metadata', 'year', 1999)] },
    ];
    const matches = () => Promise.all(filters.map((filter) => found(question('plate', { metadata: filter }))));
    const nearest = () => found(question('', { mode: 'vector', vector: vector(1, 0) }));
    const all = ['a:0'];
    await index.write(table, [row('a:0', 'plate', { metadata, vector: vector(1, 0), language: 'de' })]);
    expect([await matches(), await nearest()]).toEqual([[all, all, all], all]);
    await index.write(table, [row('a:0', 'plate')], all);
    expect([await matches(), await nearest(), await found(question('plate'))]).toEqual([[[], [], []], [], all]);
    await index.write(table, [row('a:0', 'plate', { metadata, vector: vector(0, 1) })], all);
    expect([await matches(), await nearest()]).toEqual([[all, all, all], all]);
  });

  test('items can be left out of every mode, by collection and id', async () => {
    const rows = ['a', 'b', 'c'].map((id) => row(`${id}:0`, 'plate', { vector: vector(1, 0) }));
    await index.write(table, [
      ...rows,
      row('d:0', 'plate', { source_id: 'a', collection: "it's", vector: vector(1, 0) }),
    ]);
    const many = Array.from({ length: 3_000 }, (_, n) => `n${n}`);
    for (const mode of ['text', 'vector', 'hybrid'] as const) {
      const without = async (...sources: SourceFilter[]) =>
        (await found(question('plate', { mode, vector: vector(1, 0), type: 'knowledge', without: sources }))).sort();
      expect(await without({ collection: 'papers', ids: ['a', 'b', ...many] })).toEqual(['c:0', 'd:0']);
      expect(await without({ collection: 'papers', ids: ['c'] }, { collection: "it's", ids: ['a'] })).toEqual([
        'a:0',
        'b:0',
      ]);
      expect(await without({ collection: 'papers', ids: [] })).toEqual(['a:0', 'b:0', 'c:0', 'd:0']);
    }
  });

  test('versions that replace each other at the same time leave only the last', async () => {
    // The first takes long to analyse.
    const manyWords = Array.from({ length: 20_000 }, (_, n) => `plate${n}`).join(' ');
    const text = (n: number) => (n === 0 ? `plate ${manyWords}` : 'plate');
    const version = (n: number) => index.write(table, [row(`a:v${n}`, text(n))], n === 0 ? [] : [`a:v${n - 1}`]);
    await Promise.all(Array.from({ length: 20 }, (_, n) => version(n)));
    expect(await found(question('plate'))).toEqual(['a:v19']);
  });

  test('writers and readers of several processes share a table without losing rows', async () => {
    const other = open();
    const writes = [index, other].flatMap((writer, at) =>
      Array.from({ length: 60 }, (_, n) =>
        writer.write(
          table,
          [row(`w${at}-${n}:0`, `plate ${at} ${n}`, { vector: n % 2 ? vector(1, n) : null })],
          [`w${at}-${n}:0`],
        ),
      ),
    );
    await Promise.all([...writes, index.compact(table), other.compact(table)]);
    expect(await found(question('plate', { limit: 1_000 }))).toHaveLength(120);
    expect(await found(question('plate', { limit: 1_000 }), other)).toHaveLength(120);
    await index.write(table, [row('late:0', 'zeppelin')]);
    expect(await found(question('zeppelin'), other)).toEqual(['late:0']);
    await other.close();
  });

  test('vectors of another size are rejected until the table is cleared', async () => {
    await index.write(table, PAPERS);
    await expect(index.write(table, [row('x:0', 'x', { vector: vector(1, 0) })])).rejects.toThrow(
      /4 dimensions.*2.*rebuild/,
    );
    await expect(found(question('x', { mode: 'vector', vector: vector(1, 0) }))).rejects.toThrow(/rebuild/);
    const reader = open();
    expect(await found(question('plate'), reader)).toHaveLength(2);
    await index.clear(table);
    expect(await found(question('plate'), reader)).toEqual([]);
    await index.write(table, [row('x:0', 'plate', { vector: vector(1, 0) })]);
    expect(await found(question('plate', { mode: 'hybrid', vector: vector(1, 0) }), reader)).toEqual(['x:0']);
    await reader.close();
  });

  test('tables are created once, found, dropped once and created again', async () => {
    await index.write(table, PAPERS);
    await Promise.all([index.create(table), index.create(table)]);
    expect(await found(question('wing'))).toEqual(['wing:0']);
    expect(await index.exists(table)).toBe(true);
    await index.drop(table);
    await index.drop(table);
    expect(await index.exists(table)).toBe(false);
    await expect(found(question('wing'))).rejects.toThrow(/not found/);
    await expect(index.write(table, PAPERS)).rejects.toThrow(/not found/);
    await index.create(table);
    expect(await found(question('wing'))).toEqual([]);
  });
}
