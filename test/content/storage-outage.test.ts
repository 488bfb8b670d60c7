import { renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import type { Client } from '../support/client.js';
import { eventually } from '../support/eventually.js';
import { clientOf, registeredReceiver } from '../support/organisation.js';
import { type Product, startProcesses, withDb } from '../support/product.js';
import type { Receiver } from '../support/receiver.js';

// Makes storage unavailable, so it starts its own processes.
describe('while storage is unavailable', () => {
  const org = 'outage';
  let product: Product;
  let api: Client;
  let receiver: Receiver;

  beforeAll(async () => {
    product = await startProcesses('storage-outage', { POSTBACK_EMBEDDINGS: 'off' });
    api = await clientOf(org, product);
    receiver = await registeredReceiver(api);
    await api.createDatabase('fragile');
  });
  afterAll(async () => {
    await receiver?.close();
    await product?.remove();
  });

  /** @returns a function that restores the index */
  function removeIndex(): () => void {
    const folder = join(product.dataDir, 'index');
    // A file replaces the folder, because the next write would create a missing folder again.
    renameSync(folder, `${folder}.removed`);
    writeFileSync(folder, 'not a folder');
    return () => {
      rmSync(folder);
      renameSync(`${folder}.removed`, folder);
    };
  }

  async function recovers(id: string, restore: () => Promise<void> | void): Promise<void> {
    const waiting = await eventually('E6001', async () => {
      const status = await api.status('fragile', id);
      return status.error_code === 'E6001' && status;
    });
    expect(['processing', 'graph_creation']).toContain(waiting.indexing_status);
    expect(receiver.received.filter(({ json }) => json.id === id)).toEqual([]);
    await restore();
    expect(await api.ended('fragile', id)).toMatchObject({
      indexing_status: 'completed',
      error_code: null,
      error_message: null,
    });
    const { json } = await receiver.waitFor('the webhook', ({ json }) => json.id === id);
    expect(json).toMatchObject({ status: 'completed' });
    expect(json).not.toHaveProperty('error_code');
  }

  test('the search index: items show E6001, and complete when it is back', async () => {
    const restore = removeIndex();
    await api.ingest({ database: 'fragile', memories: '[{"id":"unindexed","text":"Where is the index?"}]' });
    await recovers('unindexed', restore);
    const { chunks } = (await api.post('/query', { database: 'fragile', query: 'Where is the index?' })).body.data;
    expect(chunks.map(({ source_id }: { source_id: string }) => source_id)).toEqual(['unindexed']);
  });

  test('the search index: metadata updates are accepted, and reach the filters when it is back', async () => {
    await api.request('PATCH', '/databases/fragile/metadata-schema', {
      json: { database_metadata_schema: [{ name: 'shelf', data_type: 'INT8' }] },
    });
    await api.ingest({ database: 'fragile', memories: '[{"id":"moved","text":"A book.","metadata":{"shelf":1}}]' });
    await api.ended('fragile', 'moved');
    const onShelf = async (shelf: number) => {
      const { body } = await api.post('/query', { database: 'fragile', query: 'book', metadata_filters: { shelf } });
      return body.data?.chunks.map(({ source_id }: { source_id: string }) => source_id);
    };
    expect(await onShelf(1)).toEqual(['moved']);
    const restore = removeIndex();
    const changed = await api.request('PATCH', '/context/moved', {
      json: { database: 'fragile', metadata: { shelf: 2 } },
    });
    expect([changed.status, changed.body.data.metadata]).toEqual([200, { shelf: 2 }]);
    restore();
    await eventually('the filter finds the new value', async () => (await onShelf(2))?.length === 1);
    expect(await onShelf(1)).toEqual([]);
  });

  test('the file store: items show E6001, and complete when it is back', async () => {
    // The worker is paused until the file is removed.
    process.kill(product.worker.pid(), 'SIGSTOP');
    await api.ingest({ database: 'fragile', document_metadata: '[{"id":"unread"}]' }, [
      { name: 'note.txt', content: 'Where is the file?' },
    ]);
    await withDb(product.mongodbUri, (db) => db.collection('files.files').rename('files.removed'));
    process.kill(product.worker.pid(), 'SIGCONT');
    await recovers('unread', async () => {
      await withDb(product.mongodbUri, (db) =>
        db.collection('files.removed').rename('files.files', { dropTarget: true }),
      );
    });
  });
});
