const FIRST_BYTES = 64 * 1024;

/**
 * Bytes that arrive in pieces. They are copied: a list of a million pieces of one byte would take a hundred times as much
 * memory, and each piece would keep the buffer alive that it was read into.
 */
export class GrowingBuffer {
  readonly #firstBytes: number;
  #bytes = Buffer.alloc(0);
  #length = 0;

  /** @param firstBytes what is reserved for the first piece; less where most bodies are short */
  constructor(firstBytes = FIRST_BYTES) {
    this.#firstBytes = firstBytes;
  }

  append(piece: Buffer): void {
    const length = this.#length + piece.length;
    if (length > this.#bytes.length) {
      const larger = Buffer.allocUnsafeSlow(Math.max(length, this.#bytes.length * 2, this.#firstBytes));
      this.#bytes.copy(larger, 0, 0, this.#length);
      this.#bytes = larger;
    }
    piece.copy(this.#bytes, this.#length);
    this.#length = length;
  }

  /** The bytes so far. */
  get bytes(): Buffer {
    return this.#bytes.subarray(0, this.#length);
  }
}
