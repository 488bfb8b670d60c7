import { expect } from '@jest/globals';
import type { Collections } from '../../storage/collections.js';
import { scan, scannedPdf } from '../fixtures/scanned-files.js';
import type { Client } from '../support/client.js';
import type { CrashProduct, InterruptedWork } from '../support/crash-product.js';
import { eventually } from '../support/eventually.js';
import { testCollections } from '../support/mongodb.js';
import { clientOf, registeredReceiver } from '../support/organisation.js';
import type { Receiver } from '../support/receiver.js';

/** Ten items of some length, each with its webhook. */
export function tenItems({ product }: CrashProduct): InterruptedWork {
  const database = 'ten-items';
  const ids = Array.from({ length: 10 }, (_, n) => `item-${n}`);
  let api: Client;
  let receiver: Receiver;
  return {
    async prepare() {
      api = await clientOf('ten-items', product);
      receiver = await registeredReceiver(api);
      await api.createDatabase(database);
    },
    async begin() {
      const text = 'The keeper lit the lamp in the evening. '.repeat(60);
      await api.ingest({ database, memories: JSON.stringify(ids.map((id) => ({ id, text: `Note ${id}. ${text}` }))) });
      await eventually('work in progress', async () => {
        const { statuses } = (await api.get(`/context/status?database=${database}&ids=${ids}`)).body.data;
        return statuses.some((status: { indexing_status: string }) => status.indexing_status === 'processing');
      });
    },
    async expectToComplete() {
      for (const id of ids) expect(await api.ended(database, id)).toMatchObject({ indexing_status: 'completed' });
      await eventually('ten webhooks', () => new Set(receiver.received.map(({ json }) => json.id)).size === 10);
      await receiver.close();
    },
  };
}

/** A PDF of scanned pages. */
export function scannedItem({ product }: CrashProduct): InterruptedWork {
  const org = 'scanned-item';
  const database = 'archive';
  // More pages than are read while other work begins.
  const words = 'one two three four five six seven eight nine ten eleven twelve'.split(' ');
  let api: Client;
  let collections: Collections;
  let item: string;
  const pagesRead = () => collections.checkpoints.find({ owner: `${item}/1` }).toArray();
  return {
    async begin() {
      // First, because drawing the pages keeps this process busy.
      collections = await testCollections(product.mongodbUri);
      const pages = words.map((word) => scan([`This is page ${word} of the log`, 'The lamp was lit at dusk']));
      const content = scannedPdf(await Promise.all(pages));
      api = await clientOf(org, product);
      await api.createDatabase(database);
      await api.ingest({ database, document_metadata: '[{"id":"log"}]' }, [{ name: 'log.pdf', content }]);
      item = (await collections.items.findOne({ org, id: 'log' }))!._id;
      await eventually('some pages read', async () => (await pagesRead()).length >= 2);
    },
    /** Marks the pages that the dead worker read, to distinguish them from those its successor reads. */
    async afterKill() {
      for (const { _id, value } of await pagesRead()) {
        const page = JSON.parse(value);
        const marked = JSON.stringify({ ...page, text: `${page.text} (kept)` });
        await collections.checkpoints.updateOne({ _id }, { $set: { value: marked } });
      }
    },
    async expectToComplete() {
      expect(await api.ended(database, 'log')).toMatchObject({ indexing_status: 'completed' });
      const chunks = await collections.chunks.find({ item, version: 1 }).sort({ ordinal: 1 }).toArray();
      expect(chunks.map(({ text, page }) => [/page (\w+)/.exec(text)?.[1], page])).toEqual(
        words.map((word, index) => [word, index + 1]),
      );
      const kept = chunks.filter(({ text }) => text.endsWith('(kept)')).length;
      expect(kept).toBeGreaterThanOrEqual(2);
      expect(kept).toBeLessThan(words.length);
      expect(await pagesRead()).toEqual([]);
      await collections.mongoClient.close();
    },
  };
}

/** A scanned PDF whose worker was lost three times before it is killed again. */
export function lostItem({ product }: CrashProduct): InterruptedWork {
  const org = 'lost-item';
  const database = 'archive';
  let api: Client;
  let receiver: Receiver;
  let collections: Collections;
  return {
    async begin() {
      collections = await testCollections(product.mongodbUri);
      const page = await scan(['This page meets a killed worker', 'The lamp was lit at dusk']);
      const content = scannedPdf(Array(4).fill(page));
      api = await clientOf(org, product);
      receiver = await registeredReceiver(api);
      await api.createDatabase(database);
      await api.ingest({ database, document_metadata: '[{"id":"log"}]' }, [{ name: 'log.pdf', content }]);
      await eventually('its run counted', async () => {
        const begun = { org, runs: { step: 'extract', begun: 1 } } as const;
        return (await collections.items.updateOne(begun, { $set: { 'runs.begun': 3 } })).matchedCount === 1;
      });
    },
    async expectToComplete() {
      expect(await api.ended(database, 'log')).toMatchObject({ indexing_status: 'completed', error_code: null });
      await receiver.waitFor('the webhook', ({ json }) => json.id === 'log');
      await receiver.close();
      await collections.mongoClient.close();
    },
  };
}
