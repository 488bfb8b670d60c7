import { renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { eventually } from '../support/eventually.js';
import { type OwnProduct, startOwnProduct } from '../support/own-product.js';
import { withDb } from '../support/product.js';

// Takes storage away, so it has servers and processes of its own.
describe('while storage is away', () => {
  const org = 'outage';
  let own: OwnProduct;
  let product: OwnProduct['product'];
  let api: OwnProduct['api'];
  let receiver: OwnProduct['receiver'];

  beforeAll(async () => {
    own = await startOwnProduct(org, 'fragile');
    ({ product, api, receiver } = own);
  });
  afterAll(() => own?.remove());

  /** @returns what gives it back */
  function takeIndexAway(): () => void {
    const folder = join(product.dataDir, 'index');
    // A file in its place, because whoever writes would make a missing folder again.
    renameSync(folder, `${folder}.away`);
    writeFileSync(folder, 'away');
    return () => {
      rmSync(folder);
      renameSync(`${folder}.away`, folder);
    };
  }

  async function recovers(id: string, giveBack: () => Promise<void> | void): Promise<void> {
    const waiting = await eventually('E6001 shown', async () => {
      const status = await api.status('fragile', id);
      return status.error_code === 'E6001' && status;
    });
    expect(['processing', 'graph_creation']).toContain(waiting.indexing_status);
    expect(receiver.received.filter(({ json }) => json.id === id)).toEqual([]);
    await giveBack();
    expect(await api.ended('fragile', id)).toMatchObject({
      indexing_status: 'completed',
      error_code: null,
      error_message: null,
    });
    const { json } = await receiver.waitFor('the webhook', (one) => one.json.id === id);
    expect(json).toMatchObject({ status: 'completed' });
    expect(json).not.toHaveProperty('error_code');
  }

  test('the search index: E6001 is shown, and clears by itself when it is back', async () => {
    const giveBack = takeIndexAway();
    await api.ingest({ database: 'fragile', memories: '[{"id":"unindexed","text":"Where is the index?"}]' });
    await recovers('unindexed', giveBack);
    const { chunks } = (await api.post('/query', { database: 'fragile', query: 'Where is the index?' })).body.data;
    expect(chunks.map(({ source_id }: { source_id: string }) => source_id)).toEqual(['unindexed']);
  });

  test('the search index: a change of metadata is accepted, and reaches the filters by itself when it is back', async () => {
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
    const giveBack = takeIndexAway();
    const changed = await api.request('PATCH', '/context/moved', {
      json: { database: 'fragile', metadata: { shelf: 2 } },
    });
    expect([changed.status, changed.body.data.metadata]).toEqual([200, { shelf: 2 }]);
    giveBack();
    await eventually('the filter finds the new value', async () => (await onShelf(2))?.length === 1);
    expect(await onShelf(1)).toEqual([]);
  });

  test('the file store: the same', async () => {
    // The worker is held off until the file is gone.
    process.kill(product.worker.pid(), 'SIGSTOP');
    await api.ingest({ database: 'fragile', document_metadata: '[{"id":"unread"}]' }, [
      { name: 'note.txt', content: 'Where is the file?' },
    ]);
    await withDb(product.mongodbUri, (db) => db.collection('files.files').rename('files.away'));
    process.kill(product.worker.pid(), 'SIGCONT');
    await recovers('unread', async () => {
      await withDb(product.mongodbUri, (db) => db.collection('files.away').rename('files.files', { dropTarget: true }));
    });
  });
});
