import type { Product } from './product.js';

export default async function globalTeardown(): Promise<void> {
  await (globalThis as { product?: Product }).product?.remove();
}
