import { type Product, startProduct } from './product.js';

/** One product for all path tests; what needs to break something starts one of its own. */
export default async function globalSetup(): Promise<void> {
  const product = await startProduct();
  const { apiUrl, workerUrl, temporalAddress, mongodbUri, dataDir } = product;
  process.env.POSTBACK_TEST_PRODUCT = JSON.stringify({ apiUrl, workerUrl, temporalAddress, mongodbUri, dataDir });
  (globalThis as { product?: Product }).product = product;
}
