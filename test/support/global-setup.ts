import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Product, type ProductAddress, startProduct } from './product.js';

/** Starts one product for all tests. Tests that break it, or need other settings, start their own processes or product. */
export default async function globalSetup(): Promise<void> {
  process.env.POSTBACK_TEST_FILTERS = join(mkdtempSync(join(tmpdir(), 'postback-filters-')), 'forms');
  writeFileSync(process.env.POSTBACK_TEST_FILTERS, '');
  const product = await startProduct();
  const { apiUrl, workerUrl, temporalAddress, mongodbUri, dataDir, embedderSocket } = product;
  const address: ProductAddress = { apiUrl, workerUrl, temporalAddress, mongodbUri, dataDir, embedderSocket };
  process.env.POSTBACK_TEST_PRODUCT = JSON.stringify(address);
  (globalThis as { product?: Product }).product = product;
}
