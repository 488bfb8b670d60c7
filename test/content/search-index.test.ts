import { afterAll, expect, test } from '@jest/globals';
import { connect } from '@lancedb/lancedb';
import { indexedMetadata, tagOf } from '../../domain/content/indexed-metadata.js';
import type { SearchRequest } from '../../domain/content/search.js';
import { createLanceIndex } from '../../storage/content/search-index/lancedb/index.js';
import { temporaryFolder } from '../support/folder.js';
import { question, row, testSearchIndex } from '../support/search-index-contract.js';

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

test('a table without metadata still works, reports an error for metadata filters, and can be rebuilt', async () => {
  const table = 'tnt_old';
  await index.create(table);
  const found = (request: SearchRequest) => foundIn(table, request);
  const connection = await connect(folder);
  const old = await connection.openTable(table);
  await index.write(table, [row('old:0', 'plate')]);
  await old.dropColumns(['tags']);
  connection.close();
  const filter = { tags: [tagOf('metadata', 'brand', 'Acme')] };
  const metadata = indexedMetadata([{ name: 'year', data_type: 'INT32' }], { brand: 'Acme', year: 1999 }, {});
  expect(await found(question('plate'))).toEqual(['old:0']);
  await expect(found(question('plate', { metadata: filter }))).rejects.toThrow(/index rebuild/);
  await index.write(table, [row('new:0', 'plate', { metadata })]);
  expect((await found(question('plate'))).sort()).toEqual(['new:0', 'old:0']);
  await expect(found(question('plate', { metadata: filter }))).rejects.toThrow(/index rebuild/);
  await index.clear(table);
  await index.write(table, [row('old:0', 'plate'), row('new:0', 'plate', { metadata })]);
  expect(await found(question('plate', { metadata: filter }))).toEqual(['new:0']);
  expect(await found(question('plate', { metadata: { not: filter } }))).toEqual(['old:0']);
});
