import { vectorLength } from '../../../../domain/content/vector-length.js';

/** Vectors in JSON have so many decimals: more than a 32-bit number of a unit vector. */
const DECIMALS = 1e8;

/**
 * @returns the numbers of a vector, scaled to unit length, which short decimals suit; null for a vector without a direction:
 * OpenSearch rejects it, and no cosine is defined for it
 */
export function roundedUnitVector(vector: Float32Array): number[] | null {
  const scale = DECIMALS / vectorLength(vector);
  if (!Number.isFinite(scale)) return null;
  return Array.from(vector, (value) => Math.round(value * scale) / DECIMALS);
}

/** Largest number of a packed vector. */
const LARGEST = 127;
const BYTES_OF_FLOAT = 4;

/**
 * Packs a vector in one byte for each number: a quarter of its size. The search compares exact vectors; only its best hits are
 * compared with a second vector, by these.
 */
export function bytesOf(unit: readonly number[]): string {
  const largest = unit.reduce((most, value) => Math.max(most, Math.abs(value)), 0);
  return Buffer.from(Int8Array.from(unit, (value) => Math.round((value * LARGEST) / largest)).buffer).toString(
    'base64',
  );
}

/** @returns a packed vector, in unit length. @param dimensions tell the form: earlier rows have 32-bit numbers */
export function vectorOf(bytes: string, dimensions: number): Float32Array {
  // A copy, because the bytes of a small buffer begin anywhere in a larger one.
  const { buffer } = Uint8Array.from(Buffer.from(bytes, 'base64'));
  if (buffer.byteLength === dimensions * BYTES_OF_FLOAT) return new Float32Array(buffer);
  const vector = Float32Array.from(new Int8Array(buffer));
  const length = vectorLength(vector);
  return vector.map((value) => value / length);
}
