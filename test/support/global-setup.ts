import { type Product, startProduct } from './product.js';

/** One product for all tests; those that break it, or need other settings, start processes or a product of their own. */
export default async function globalSetup(): Promise<void> {
  const product = await startProduct();
  const { apiUrl, workerUrl, temporalAddress, mongodbUri, dataDir } = product;
  process.env.POSTBACK_TEST_PRODUCT = JSON.stringify({ apiUrl, workerUrl, temporalAddress, mongodbUri, dataDir });
  (globalThis as { product?: Product }).product = product;
}
