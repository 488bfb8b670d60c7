import { recordScans } from './collection-scans.js';
import { withDb } from './mongodb.js';
import { type Product, type ProductAddress, startProduct } from './product.js';

/** Starts one product for all tests. Tests that break it, or need other settings, start their own processes or product. */
export default async function globalSetup(): Promise<void> {
  const product = await startProduct();
  const { apiUrl, workerUrl, temporalAddress, mongodbUri, dataDir, embedderSocket } = product;
  const address: ProductAddress = { apiUrl, workerUrl, temporalAddress, mongodbUri, dataDir, embedderSocket };
  process.env.POSTBACK_TEST_PRODUCT = JSON.stringify(address);
  (globalThis as { product?: Product }).product = product;
  await withDb(mongodbUri, recordScans);
}
