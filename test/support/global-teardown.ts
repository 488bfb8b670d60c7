import { recordedScans } from './collection-scans.js';
import { closeConnections, withDb } from './mongodb.js';
import type { Product } from './product.js';

export default async function globalTeardown(): Promise<void> {
  const { product } = globalThis as { product?: Product };
  if (!product) return;
  try {
    const scans = await withDb(product.mongodbUri, recordedScans);
    if (scans.length === 0) return;
    console.error(`Queries without an index: ${scans.join('\n')}`);
    process.exitCode = 1;
  } finally {
    await closeConnections();
    await product.remove();
  }
}
