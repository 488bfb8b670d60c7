import { expect } from '@jest/globals';
import type { Client } from '../support/client.js';
import { connectorsOf } from '../support/connectors.js';
import type { CrashProduct, InterruptedWork } from '../support/crash-product.js';
import { eventually } from '../support/eventually.js';
import { clientOf } from '../support/organisation.js';
import { withDb } from '../support/product.js';
import { html, type Site, startSite } from '../support/site.js';

/** A sync of 45 pages in three batches, whose second batch waits for the site until the worker is killed. */
export function sync({ product }: CrashProduct): InterruptedWork {
  const database = 'synced';
  const paths = Array.from({ length: 45 }, (_, n) => `/page-${n}`);
  let api: Client;
  let connectors: ReturnType<typeof connectorsOf>;
  let site: Site;
  let urls: string[];
  let id: string;
  let release: () => void;
  return {
    async begin() {
      api = await clientOf('synced', product);
      connectors = connectorsOf(api, product.mongodbUri);
      await api.createDatabase(database);
      site = await startSite();
      for (const path of paths) site.pages.set(path, { body: html(path, `The text of ${path}.`) });
      const killed = new Promise<void>((resolve) => {
        release = resolve;
      });
      let waiting = false;
      site.hold = async () => {
        if (site.requests.length < 30) return;
        waiting = true;
        await killed;
      };
      urls = paths.map((path) => site.url + path);
      id = await connectors.create({ kind: 'web', database, settings: { urls } });
      expect((await api.post(`/connectors/${id}/sync`)).status).toBe(202);
      await eventually('a page of the second batch', () => waiting);
    },
    afterKill: () => release(),
    async expectToComplete() {
      const { last_sync } = await connectors.ended(id, 1);
      expect(last_sync).toMatchObject({ number: 1, status: 'completed', counts: { new: 45, failed: 0 } });
      for (const url of urls)
        expect(await api.ended(database, connectors.itemOf(id, url))).toMatchObject({ indexing_status: 'completed' });
      const versions = await withDb(product.mongodbUri, (db) =>
        db.collection('items').find({ 'additional_metadata.connector_id': id }).toArray(),
      );
      expect(versions.map(({ version }) => version)).toEqual(paths.map(() => 1));
      await site.close();
    },
  };
}
