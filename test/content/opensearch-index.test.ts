import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import type { OpenSearch } from '../../dev-stack/opensearch/server.js';
import type { SearchIndex } from '../../domain/content/search.js';
import { createOpenSearchIndex } from '../../storage/content/search-index/opensearch/index.js';
import { openSearchIfAvailable } from '../support/opensearch.js';
import { question, row, testSearchIndex, vector } from '../support/search-index-contract.js';

const start = await openSearchIfAvailable();

(start ? describe : describe.skip)('the search index in OpenSearch', () => {
  let server: OpenSearch;
  beforeAll(async () => {
    server = await start!();
  });
  afterAll(() => server?.stop());
  const open = () => createOpenSearchIndex({ url: server.url, prefix: 'test' });

  testSearchIndex(open);

  describe('several writers', () => {
    const table = 'tnt_late';
    let index: SearchIndex;
    beforeAll(async () => {
      index = open();
      await index.create(table);
    });
    afterAll(() => index.close());
    const found = async (query: string) =>
      (await index.search(table, question(query))).map(({ chunk_id }) => chunk_id).sort();

    test('a late write of an older revision does not replace a newer row', async () => {
      await index.write(table, [row('a:0', 'newer', { revision: 2 })], ['a:0']);
      await index.write(table, [row('a:0', 'older', { revision: 1 }), row('b:0', 'older')], ['a:0']);
      expect(await found('newer')).toEqual(['a:0']);
      expect(await found('older')).toEqual(['b:0']);
      await index.write(table, [row('a:0', 'newest', { revision: 2 })], ['a:0']);
      expect(await found('newest')).toEqual(['a:0']);
    });

    test('a row that was removed can be added again, with the same revision and with the next', async () => {
      for (const revision of [5, 5, 6]) {
        await index.write(table, [row('again:0', 'phoenix', { revision })]);
        expect(await found('phoenix')).toEqual(['again:0']);
        await index.write(table, [], ['again:0', 'never:0']);
        expect(await found('phoenix')).toEqual([]);
      }
      await index.write(table, [row('never:0', 'phoenix')]);
      expect(await found('phoenix')).toEqual(['never:0']);
    });

    test('rows of another process are found after it has replaced the whole index', async () => {
      const other = open();
      await index.write(table, [row('c:0', 'before', { vector: vector(1, 0) })]);
      await other.clear(table);
      await index.write(table, [row('c:1', 'after', { vector: vector(1, 0, 0), language: 'de' })]);
      expect([await found('before'), await found('after')]).toEqual([[], ['c:1']]);
      await other.close();
    });
  });

  test('a server that is not there is reported as unavailable', async () => {
    const index = createOpenSearchIndex({ url: 'http://127.0.0.1:1', prefix: 'test' });
    expect(await index.ping()).toBe(false);
    await expect(index.search('tnt_none', question('plate'))).rejects.toThrow(/^OpenSearch: /);
    await index.close();
  });
});
