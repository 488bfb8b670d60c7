import type { IndexRow } from '../../../domain/content/search.js';
import { vectorLength } from '../../../domain/content/vector-length.js';
import { EmbeddingError } from '../../../domain/errors.js';

/**
 * @param existing dimensions of the table's vectors; null when it has none yet
 * @returns the number of dimensions of the vectors, also those in these rows; null without vectors
 * @throws EmbeddingError when it differs
 */
export function dimensionsIn(rows: readonly IndexRow[], existing: number | null = null): number | null {
  let dimensions = existing;
  for (const { vector } of rows) {
    if (!vector) continue;
    dimensions ??= vector.length;
    if (vector.length !== dimensions) throw dimensionsDiffer(dimensions, vector.length);
  }
  return dimensions;
}

/** The error for a vector that does not fit the table. A retry does not help. */
export function dimensionsDiffer(expected: number, actual: number): EmbeddingError {
  return new EmbeddingError(
    `The search index has vectors of ${expected} dimensions and got a vector of ${actual}: rebuild it for the new model.`,
    false,
  );
}

/** @returns the vector at length 1; as it is when all its components are 0 */
export function unitVector(vector: Float32Array): Float32Array {
  const length = vectorLength(vector);
  return length === 0 ? vector : vector.map((component) => component / length);
}
