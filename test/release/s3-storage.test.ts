import { execFile } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import type { Collection } from 'mongodb';
import { type Client, createClient } from '../support/client.js';
import { eventually } from '../support/eventually.js';
import { makeKey, type Product, startProcesses, withDb } from '../support/product.js';
import { type ServerProxy, startProxy } from '../support/proxy.js';
import { reconcile } from '../support/reconcile.js';
import { S3_ENVIRONMENT, startS3 } from '../support/s3.js';

// Starts its own product, because it needs other settings and cuts a connection.
describe('files and the search index in a bucket', () => {
  const database = 'remote';
  let s3: Awaited<ReturnType<typeof startS3>>;
  let proxy: ServerProxy;
  let settings: Record<string, string>;
  let product: Product;
  let api: Client;
  let key: string;

  beforeAll(async () => {
    s3 = await startS3('postback', { conditionalWrites: true });
    proxy = await startProxy(new URL(s3.endpoint).host);
    settings = {
      ...S3_ENVIRONMENT,
      AWS_ENDPOINT_URL: `http://${proxy.address}`,
      // A compose file passes variables that are not set as empty strings.
      AWS_REGION: '',
      AWS_ENDPOINT_URL_S3: '',
      AWS_SESSION_TOKEN: '',
      POSTBACK_FILES_URI: 's3://postback/files',
      POSTBACK_INDEX_URI: 's3://postback/index',
    };
    product = await startProcesses('s3-storage', settings);
    ({ key } = await makeKey(product.mongodbUri, 'remote'));
    api = createClient(product.apiUrl, key);
    await api.createDatabase(database);
  });
  afterAll(async () => {
    await product?.remove();
    await proxy?.close();
    await s3?.close();
  });

  const findChunks = async (query: string) => (await api.post('/query', { database, query })).body.data?.chunks ?? [];
  const countFiles = async () => (await s3.keys()).filter((key) => key.startsWith('files/')).length;

  test('a file is stored in the bucket, found, downloaded in part and removed', async () => {
    const content = readFileSync('examples/lighthouse-history.pdf');
    await api.ingest({ database, document_metadata: '[{"id":"history"}]' }, [{ name: 'history.pdf', content }]);
    expect(await api.ended(database, 'history')).toMatchObject({ indexing_status: 'completed' });
    expect(
      (await findChunks('Who built the lighthouse?')).map(({ source_id }: { source_id: string }) => source_id),
    ).toContain('history');
    expect(await countFiles()).toBe(1);
    expect(existsSync(join(product.dataDir, 'index'))).toBe(false);
    const download = await fetch(`${product.apiUrl}/context/history/content?database=${database}`, {
      headers: { Authorization: `Bearer ${key}`, 'API-Version': '2', Range: 'bytes=0-4' },
    });
    expect([download.status, await download.text()]).toEqual([206, '%PDF-']);
    await api.request('DELETE', '/context', { json: { database, ids: ['history'] } });
    await eventually('the file is removed', async () => (await countFiles()) === 0);
    expect(await findChunks('Who built the lighthouse?')).toEqual([]);
  });

  test('while the bucket removes nothing, a file is rejected beside another that is accepted, and removed later', async () => {
    const before = await countFiles();
    const unclaimed = <T>(work: (files: Collection) => Promise<T>) =>
      withDb(product.mongodbUri, (db) => work(db.collection('unclaimed_files')));
    const untilLongAgo = () => unclaimed((files) => files.updateMany({}, { $set: { created_at: new Date(0) } }));
    s3.failing.add('DELETE');
    const { status, body } = await api.ingest({ database, document_metadata: '[{"id":"kept"},{"id":"rejected"}]' }, [
      { name: 'kept.txt', content: 'The lamp is lit.' },
      { name: 'rejected.txt', content: '' },
    ]);
    expect([status, body.data.success_count, body.data.failed_count]).toEqual([202, 1, 1]);
    await untilLongAgo();
    await reconcile(product, 's3-storage');
    expect([await unclaimed((files) => files.countDocuments()), await countFiles()]).toEqual([2, before + 2]);
    s3.failing.clear();
    await reconcile(product, 's3-storage');
    expect([await unclaimed((files) => files.countDocuments()), await countFiles()]).toEqual([0, before + 1]);
    expect(await api.ended(database, 'kept')).toMatchObject({ indexing_status: 'completed' });
  });

  test('while the bucket is unreachable, uploads are 503 and indexing is retried; both succeed when it is back', async () => {
    const note = () =>
      api.ingest({ database, document_metadata: '[{"id":"note"}]' }, [
        { name: 'note.txt', content: 'The lamp is lit.' },
      ]);
    proxy.cut();
    const rejected = await note();
    expect([rejected.status, rejected.body.error?.code]).toEqual([503, 'SERVICE_UNAVAILABLE']);
    expect(Number(rejected.headers.get('Retry-After'))).toBeGreaterThan(0);
    await api.ingest({ database, memories: '[{"id":"thought","text":"The foghorn sounds at night."}]' });
    await eventually('E6001 shown', async () => (await api.status(database, 'thought')).error_code === 'E6001');
    proxy.restore();
    expect(await api.ended(database, 'thought')).toMatchObject({ indexing_status: 'completed', error_code: null });
    expect((await note()).status).toBe(202);
    expect(await api.ended(database, 'note')).toMatchObject({ indexing_status: 'completed' });
    expect((await findChunks('foghorn'))[0]).toMatchObject({ source_id: 'thought' });
  });

  test('while the bucket cannot be read, a download is 503, and complete when it is back', async () => {
    await api.ingest({ database, document_metadata: '[{"id":"download"}]' }, [{ name: 'a.txt', content: 'Lit.' }]);
    await api.ended(database, 'download');
    const headers = { Authorization: `Bearer ${key}`, 'API-Version': '2' };
    const download = () => fetch(`${product.apiUrl}/context/download/content?database=${database}`, { headers });
    s3.failing.add('GET');
    const rejected = await download();
    expect([rejected.status, await rejected.json()]).toMatchObject([503, { error: { code: 'SERVICE_UNAVAILABLE' } }]);
    s3.failing.clear();
    expect(await (await download()).text()).toBe('Lit.');
  });

  test('a server that accepts the second writer of an object is rejected, because it would lose rows of the index', async () => {
    const unconditional = await startS3('postback');
    const env = { ...product.env, ...settings, AWS_ENDPOINT_URL: unconditional.endpoint };
    const started = promisify(execFile)(process.execPath, ['dist/cli/main.js', 'api'], { env });
    await expect(started).rejects.toMatchObject({ code: 1, stderr: expect.stringMatching(/reject the second writer/) });
    await unconditional.close();
  });
});
