import { afterAll, expect, test } from '@jest/globals';
import { connect } from '@lancedb/lancedb';
import type { SearchRequest } from '../../domain/content/search.js';
import { createTextAnalysis } from '../../storage/content/search-index/analysis.js';
import { createLanceIndex } from '../../storage/content/search-index/lancedb/index.js';
import { searchTable } from '../../storage/content/search-index/lancedb/query.js';
import { createRowReader } from '../../storage/content/search-index/lancedb/rows.js';
import { temporaryFolder } from '../support/folder.js';
import { question, row, testSearchIndex, vector } from '../support/search-index-contract.js';

const folder = temporaryFolder('index');
const open = () => createLanceIndex({ location: folder });

const index = open();
afterAll(() => index.close());

const foundIn = async (table: string, request: SearchRequest) =>
  (await index.search(table, request)).map(({ chunk_id }) => chunk_id);

testSearchIndex(open);

test.each([64, 50])(
  'a large table with vectors of %i dimensions is indexed, and searches find rows from before and after',
  async (dimensions) => {
    const table = `tnt_large_${dimensions}`;
    await index.create(table);
    const at = (n: number) => Float32Array.from({ length: dimensions }, (_, d) => Math.sin(n * (d + 1) * 1.7 + d));
    const rows = Array.from({ length: 10_500 }, (_, n) => row(`n${n}:0`, 'x', { vector: at(n) }));
    for (let n = 0; n < rows.length; n += 3_500) await index.write(table, rows.slice(n, n + 3_500));
    await index.compact(table);
    await index.write(table, [row('late:0', 'x', { vector: at(1.5) })]);
    const nearest = (n: number) => foundIn(table, question('', { mode: 'vector', vector: at(n), limit: 1 }));
    expect(await nearest(4_321)).toEqual(['n4321:0']);
    expect(await nearest(1.5)).toEqual(['late:0']);
    await index.compact(table);
    expect(await nearest(1.5)).toEqual(['late:0']);
  },
);

test('rows that are added while a table is compacted are indexed by the next compaction', async () => {
  const table = 'tnt_late_rows';
  await index.create(table);
  let compactions = 0;
  const owner = createLanceIndex({
    location: folder,
    leases: {
      async own(_, work) {
        compactions += 1;
        await work(async () => undefined);
        if (compactions === 1) await index.write(table, [row('late:0', 'plate')]);
        return true;
      },
      whenShared: async () => undefined,
    },
  });
  await owner.compact(table);
  await owner.compact(table);
  await owner.compact(table);
  // The third has nothing to do.
  expect(compactions).toBe(2);
  const connection = await connect(folder);
  const indices = await (await connection.openTable(table)).listIndices();
  connection.close();
  expect(indices.map(({ numUnindexedRows }) => numUnindexedRows)).toEqual([0]);
  await owner.close();
});

test('processes create a table at the same time', async () => {
  const processes = Array.from({ length: 4 }, open);
  await Promise.all(processes.map((each) => each.create('tnt_created')));
  await Promise.all(processes.map((each, n) => each.write('tnt_created', [row(`n${n}:0`, 'plate')])));
  expect((await foundIn('tnt_created', question('plate'))).sort()).toEqual(['n0:0', 'n1:0', 'n2:0', 'n3:0']);
  await Promise.all(processes.map((each) => each.close()));
});

test('a row that is there twice is there once after it has been replaced, with others and new ones', async () => {
  const table = 'tnt_twice';
  await index.create(table);
  for (let run = 0; run < 2; run += 1) await index.write(table, [row('twice:0', 'plate')]);
  await index.write(table, [row('once:0', 'plate')]);
  expect((await foundIn(table, question('plate'))).sort()).toEqual(['once:0', 'twice:0', 'twice:0']);
  const ids = ['new:0', 'once:0', 'twice:0'];
  await index.write(
    table,
    ids.map((id) => row(id, 'plate')),
    ids,
  );
  expect((await foundIn(table, question('plate'))).sort()).toEqual(ids);
});

test('searches find the rows of a table that another process has overwritten, not those they have read before', async () => {
  const table = 'tnt_overwritten';
  const other = open();
  const heat = (name: string) => row(`${name}:0`, 'heat', { vector: vector(0, 1) });
  const ask = async () => {
    const hits = await index.search(table, question('heat', { mode: 'hybrid', vector: vector(1, 0) }));
    return hits.map(({ chunk_id }) => chunk_id);
  };
  await index.create(table);
  await index.write(table, [heat('first')]);
  expect(await ask()).toEqual(['first:0']);
  await other.clear(table);
  await other.write(table, [heat('second')]);
  expect(await ask()).toEqual(['second:0']);
  await other.close();
});

test('a search is repeated when rows are removed or moved before they are read', async () => {
  const table = 'tnt_moved';
  await index.create(table);
  for (const id of ['kept:0', 'removed:0']) await index.write(table, [row(id, 'plate', { vector: vector(0, 1) })]);
  const connection = await connect(folder, { readConsistencyInterval: 0 });
  const opened = await connection.openTable(table);
  const readRows = createRowReader();
  let reads = 0;
  const afterOthers: typeof readRows = async (...args) => {
    reads += 1;
    if (reads === 1) {
      await index.write(table, [], ['removed:0']);
      await index.compact(table);
    }
    return readRows(...args);
  };
  const searched = { table: opened, analysis: createTextAnalysis(), readRows: afterOthers };
  const hits = await searchTable(searched, question('', { mode: 'vector', vector: vector(0, 1) }));
  expect(hits.map(({ chunk_id }) => chunk_id)).toEqual(['kept:0']);
  // Two searches, each of which reads vectors and then the ids of chunks.
  expect(reads).toBe(4);
  connection.close();
});
