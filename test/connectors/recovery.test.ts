import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { connectorsOf } from '../support/connectors.js';
import { clientOf } from '../support/organisation.js';
import { type Product, startProduct, withDb } from '../support/product.js';
import { html, type Site, startSite } from '../support/site.js';

// Kills its worker, so it starts its own product.
describe('a sync whose worker is killed', () => {
  let product: Product;
  let site: Site;

  beforeAll(async () => {
    product = await startProduct();
    site = await startSite();
  });
  afterAll(async () => {
    await site?.close();
    await product?.remove();
  });

  test('continues in another worker and ingests each page once', async () => {
    const api = await clientOf('killed', product);
    const connectors = connectorsOf(api, product.mongodbUri);
    await api.createDatabase('crash');
    const paths = Array.from({ length: 45 }, (_, n) => `/page-${n}`);
    for (const path of paths) site.pages.set(path, { body: html(path, `The text of ${path}.`) });
    let killed = false;
    site.hold = async () => {
      // During the second of three batches.
      if (killed || site.requests.length < 30) return;
      killed = true;
      process.kill(product.worker.pid(), 'SIGKILL');
    };
    const urls = paths.map((path) => site.url + path);
    const id = await connectors.create({ kind: 'web', database: 'crash', settings: { urls } });
    const { last_sync } = await connectors.sync(id);
    expect(killed).toBe(true);
    expect(last_sync).toMatchObject({ number: 1, status: 'completed', counts: { new: 45, failed: 0 } });
    for (const url of urls) {
      expect(await api.ended('crash', connectors.itemOf(id, url))).toMatchObject({ indexing_status: 'completed' });
    }
    const versions = await withDb(product.mongodbUri, (db) =>
      db.collection('items').find({ 'additional_metadata.connector_id': id }).toArray(),
    );
    expect(versions.map(({ version }) => version)).toEqual(paths.map(() => 1));
  });
});
