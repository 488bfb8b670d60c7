/** Vectors in JSON have so many decimals: more than a 32-bit number of a unit vector. */
const DECIMALS = 1e8;

/**
 * @returns the numbers of a vector, scaled to unit length, which short decimals suit; null for a vector without a direction:
 * OpenSearch rejects it, and no cosine is defined for it
 */
export function unitVector(vector: Float32Array): number[] | null {
  let squares = 0;
  for (const value of vector) squares += value * value;
  const scale = DECIMALS / Math.sqrt(squares);
  if (!Number.isFinite(scale)) return null;
  return Array.from(vector, (value) => Math.round(value * scale) / DECIMALS);
}

export function bytesOf(vector: Float32Array): string {
  return Buffer.from(vector.buffer, vector.byteOffset, vector.byteLength).toString('base64');
}

export function vectorOf(bytes: string): Float32Array {
  // A copy, because the bytes of a small buffer begin anywhere in a larger one.
  return new Float32Array(Uint8Array.from(Buffer.from(bytes, 'base64')).buffer);
}
