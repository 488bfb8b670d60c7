import { rmSync } from 'node:fs';
import type { Product } from './product.js';

export default async function globalTeardown(): Promise<void> {
  const { product } = globalThis as { product?: Product };
  if (!product) return;
  await product.stop();
  rmSync(product.dataDir, { recursive: true, force: true });
}
