/**
 * The protocol between the embedding process and its clients: HTTP over a Unix socket. A request is a JSON array of texts, a response
 * the vectors one after the other, as 32-bit floats in the byte order of the machine.
 */

export const PATHS = { documents: '/documents', query: '/query', health: '/healthz' } as const;
/** A header of requests: whose texts they are, percent-encoded; the process compares it only. */
export const ORG_HEADER = 'x-org';
/** Texts of one request. */
export const MAX_TEXTS = 64;
/** More characters than 512 tokens of any prose: the model reads no further. */
export const MAX_CHARACTERS = 8_192;
/** Bytes of a request; JSON needs at most six bytes for a character. */
export const MAX_BYTES = MAX_TEXTS * (MAX_CHARACTERS * 6 + 3) + 2;

/** The status of a response without vectors. Its body is a message for operators. */
export const STATUS = {
  /** The queue is full: try again. */
  busy: 429,
  /** The model failed; another attempt may succeed. */
  failed: 503,
  /** Another attempt would fail, too. */
  rejected: 400,
} as const;

export function packVectors(vectors: readonly Float32Array[]): Buffer {
  return Buffer.concat(
    vectors.map(({ buffer, byteOffset, byteLength }) => Buffer.from(buffer, byteOffset, byteLength)),
  );
}

/** @returns undefined when the bytes are not so many vectors */
export function unpackVectors(bytes: ArrayBuffer, count: number, dimensions: number): Float32Array[] | undefined {
  if (bytes.byteLength !== count * dimensions * Float32Array.BYTES_PER_ELEMENT) return undefined;
  // Copied, so that one vector in use does not keep the whole response in memory.
  return Array.from(
    { length: count },
    (_, n) => new Float32Array(bytes.slice(n * dimensions * 4, (n + 1) * dimensions * 4)),
  );
}
