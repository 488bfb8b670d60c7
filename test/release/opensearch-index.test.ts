import { once } from 'node:events';
import { createServer, request as send } from 'node:http';
import type { AddressInfo } from 'node:net';
import { json } from 'node:stream/consumers';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { indexedMetadata } from '../../domain/content/indexed-metadata.js';
import type { SearchIndex } from '../../domain/content/search.js';
import type { DatabaseRecord } from '../../storage/content/databases.js';
import { createOpenSearchIndex } from '../../storage/content/search-index/opensearch/index.js';
import { bytesOf, roundedUnitVector, vectorOf } from '../../storage/content/search-index/opensearch/vector-form.js';
import type { Client } from '../support/client.js';
import { runCommand } from '../support/command.js';
import { eventually } from '../support/eventually.js';
import { startHttpServer } from '../support/http-server.js';
import type { OpenSearch } from '../support/opensearch/server.js';
import { openSearchIfAvailable } from '../support/opensearch.js';
import { clientOf } from '../support/organisation.js';
import { type Product, startProcesses, withDb } from '../support/product.js';
import { question, row, testSearchIndex, vector } from '../support/search-index-contract.js';

const start = await openSearchIfAvailable();

/** Passes requests on to a server, and lists their methods and paths. */
async function startForwarder(target: string) {
  const requests: string[] = [];
  const server = createServer((incoming, response) => {
    const { method, url, headers } = incoming;
    requests.push(`${method} ${url}`);
    const outgoing = send(new URL(url!, target), { method, headers }, (answer) => {
      response.writeHead(answer.statusCode!, answer.headers);
      answer.pipe(response);
    });
    incoming.pipe(outgoing);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const close = () => new Promise<unknown>((resolve) => server.close(resolve));
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, requests, close };
}

test('vectors keep their direction in a byte for each number, and those of earlier rows are read as they are', () => {
  const exact = roundedUnitVector(Float32Array.from({ length: 384 }, (_, n) => Math.sin(n * 1.7 + 1)))!;
  const packed = vectorOf(bytesOf(exact), exact.length);
  expect(bytesOf(exact)).toHaveLength((384 / 3) * 4);
  expect(exact.reduce((sum, value, n) => sum + value * packed[n]!, 0)).toBeGreaterThan(0.9999);
  const earlier = vector(0.6, -0.8);
  expect(vectorOf(Buffer.from(earlier.buffer).toString('base64'), 2)).toEqual(earlier);
});

test('searches ask for at most 10,000 hits and nearest vectors, which OpenSearch returns at most', async () => {
  const bodies: { size: number; query: { knn?: { vector: { k: number } } } }[] = [];
  const mappings = { properties: { vector: { type: 'knn_vector', dimension: 2 } } };
  const server = await startHttpServer(async (request, response) => {
    const isSearch = request.url!.includes('_search');
    if (isSearch) bodies.push((await json(request)) as (typeof bodies)[number]);
    response.setHeader('content-type', 'application/json');
    response.end(JSON.stringify(isSearch ? { hits: { hits: [] } } : { 'test-tnt_deep-1': { mappings } }));
  });
  const index = createOpenSearchIndex({ url: server.url, prefix: 'test' });
  const search = (limit: number) =>
    index.search('tnt_deep', question('plate', { mode: 'hybrid', vector: vector(1, 0), limit }));
  for (const limit of [3_000, 9_000, 13_568]) await search(limit);
  const sizes = (of: typeof bodies) => of.map(({ size }) => size).sort((a, b) => a - b);
  const [knn, words] = [bodies.filter(({ query }) => query.knn), bodies.filter(({ query }) => !query.knn)];
  for (const searches of [knn, words]) expect(sizes(searches)).toEqual([3_000, 9_000, 10_000]);
  expect(knn.map(({ query }) => query.knn!.vector.k)).toEqual([9_000, 10_000, 10_000]);
  await index.close();
  await server.close();
});

(start ? describe : describe.skip)('the search index in OpenSearch', () => {
  let server: OpenSearch;
  beforeAll(async () => {
    server = await start!();
  });
  afterAll(() => server?.stop());
  const open = () => createOpenSearchIndex({ url: server.url, prefix: 'test' });

  // OpenSearch merges its segments itself.
  testSearchIndex(open, ['after compaction']);

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

  describe('its requests', () => {
    const table = 'tnt_requests';
    let index: SearchIndex;
    let reader: SearchIndex;
    let forwarder: Awaited<ReturnType<typeof startForwarder>>;
    beforeAll(async () => {
      index = open();
      forwarder = await startForwarder(server.url);
      reader = createOpenSearchIndex({ url: forwarder.url, prefix: 'test' });
      await index.create(table);
      await index.write(table, [row('wing:0', 'wing', { vector: vector(1, 0) })]);
    });
    afterAll(async () => {
      await Promise.all([index.close(), reader.close()]);
      await forwarder.close();
    });
    const found = async (query: string, rest = {}) =>
      (await reader.search(table, question(query, rest))).map(({ chunk_id }) => chunk_id);
    const nearest = (...numbers: number[]) => found('', { mode: 'vector', vector: vector(...numbers) });

    test('searches read the mapping at most once a second', async () => {
      const started = performance.now();
      for (let n = 0; n < 50; n += 1)
        expect(await found('wings', { mode: 'hybrid', vector: vector(1, 0) })).toEqual(['wing:0']);
      const seconds = (performance.now() - started) / 1000;
      const count = (pattern: RegExp) => forwarder.requests.filter((request) => pattern.test(request)).length;
      expect(count(/_search/)).toBe(100);
      expect(count(/_mapping/)).toBeLessThanOrEqual(seconds + 1);
    });

    test('searches see at once what another process has added, and the index by which it has replaced the whole', async () => {
      const metadata = indexedMetadata([{ name: 'year', data_type: 'INT32' }], { year: 1999 }, {});
      const year = { metadata: { field: 'year', comparison: '>=', value: 1990 } as const };
      expect(await found('wing', year)).toEqual([]);
      await index.write(table, [row('new:0', 'wing', { metadata, vector: vector(0, 1) })]);
      expect(await found('wing', year)).toEqual(['new:0']);
      expect(await nearest(0, 1)).toEqual(['new:0', 'wing:0']);
      await index.clear(table);
      expect(await nearest(0, 1)).toEqual([]);
      await index.write(table, [row('long:0', 'wing', { vector: vector(0, 0, 1) })]);
      expect(await nearest(0, 0, 1)).toEqual(['long:0']);
      await index.clear(table);
      await index.write(table, [row('short:0', 'wing', { vector: vector(0, 1) })]);
      expect(await nearest(0, 1)).toEqual(['short:0']);
      await reader.write(table, [row('own:0', 'wing', { vector: vector(1, 0) })]);
      expect(await nearest(1, 0)).toEqual(['own:0', 'short:0']);
    });

    test('writes that arrive together share a refresh', async () => {
      const refreshes = async () => {
        const response = await fetch(`${server.url}/test-${table}/_stats/refresh`);
        return ((await response.json()) as { _all: { primaries: { refresh: { total: number } } } })._all.primaries
          .refresh.total;
      };
      const before = await refreshes();
      await Promise.all(Array.from({ length: 200 }, (_, n) => index.write(table, [row(`many${n}:0`, 'propeller')])));
      expect(await found('propeller', { limit: 300 })).toHaveLength(200);
      expect((await refreshes()) - before).toBeLessThan(50);
    });
  });

  describe('of a running service', () => {
    const NAME = 'search-engines';
    let product: Product;
    let api: Client;
    beforeAll(async () => {
      product = await startProcesses(NAME, { POSTBACK_SEARCH_URL: server.url, POSTBACK_SEARCH_PREFIX: 'service' });
      api = await clientOf(NAME, product);
      await api.createDatabase('library');
      await add('otter', 'The otter swims in the river.');
      await add('kiln', 'The kiln is hot.');
    });
    afterAll(() => product?.remove());

    async function add(id: string, text: string): Promise<void> {
      await api.ingest({ database: 'library', memories: JSON.stringify([{ id, text }]) });
      expect(await api.ended('library', id)).toMatchObject({ indexing_status: 'completed' });
    }
    const query = (text: string, query_by: string) =>
      api.post('/query', { database: 'library', query: text, query_by });
    const idsOf = ({ body }: Awaited<ReturnType<typeof query>>) =>
      body.data.chunks.map(({ source_id }: { source_id: string }) => source_id);
    const engine = () =>
      withDb(product.mongodbUri, async (db) => {
        return (await db.collection<DatabaseRecord>('databases').findOne({ name: 'library' }))?.index.engine;
      });

    test('has new databases in OpenSearch, and its readiness says that OpenSearch responds', async () => {
      expect(await engine()).toBe('opensearch');
      await eventually('OpenSearch in the readiness', async () => {
        const response = await fetch(`${product.apiUrl}/readyz`);
        return ((await response.json()) as { opensearch?: boolean }).opensearch;
      });
      expect(idsOf(await query('otters', 'text'))).toEqual(['otter']);
      expect(idsOf(await query('an animal in the water', 'vector'))[0]).toBe('otter');
    });

    test.each(['lancedb', 'opensearch'])('is moved to %s while it is queried and changed', async (target) => {
      await add(`gone-${target}`, 'A goner.');
      const responses: Awaited<ReturnType<typeof query>>[] = [];
      let moved = false;
      const asking = (async () => {
        while (!moved) responses.push(await query('otters', 'text'));
      })();
      const settings = {
        POSTBACK_DATA_DIR: product.dataDir,
        MONGODB_URI: product.mongodbUri,
        TEMPORAL_ADDRESS: product.temporalAddress,
        TEMPORAL_NAMESPACE: NAME,
      };
      const [result] = await Promise.all([
        runCommand(['index', 'move', '--to', target], settings),
        add(`late-${target}`, `A latecomer for ${target}.`),
        api.request('DELETE', '/context', { json: { database: 'library', ids: [`gone-${target}`] } }),
      ]).finally(() => {
        moved = true;
      });
      await asking;
      expect(result).toMatchObject({
        code: 0,
        out: expect.stringMatching(`Move to ${target}(.|\n)*Done: queries use ${target}`),
      });
      expect(await engine()).toBe(target);
      expect(responses.map((response) => [response.status, ...idsOf(response)].join(' '))).toEqual(
        responses.map(() => '200 otter'),
      );
      expect(idsOf(await query(`latecomer ${target}`, 'text'))).toContain(`late-${target}`);
      expect(idsOf(await query('goner', 'text'))).toEqual([]);
      expect(idsOf(await query('an animal in the water', 'vector'))[0]).toBe('otter');
    });
  });

  test('a server that is not there is reported as unavailable', async () => {
    const index = createOpenSearchIndex({ url: 'http://127.0.0.1:1', prefix: 'test' });
    expect(await index.ping()).toBe(false);
    await expect(index.search('tnt_none', question('plate'))).rejects.toThrow(/^OpenSearch: /);
    await index.close();
  });
});
