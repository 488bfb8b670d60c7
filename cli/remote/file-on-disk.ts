import { createReadStream, statSync } from 'node:fs';
import { basename } from 'node:path';
import { Readable } from 'node:stream';

/**
 * A file to send in a form, read while it is sent and closed at its end. A blob of `openAsBlob` stays open where a server
 * responds before it has read everything, and keeps the process alive.
 */
export class FileOnDisk extends File {
  readonly #path: string;
  /** Bytes when the file was found; the request announces them. */
  override readonly size: number;

  constructor(path: string, size = statSync(path).size) {
    super([], basename(path));
    this.#path = path;
    this.size = size;
  }

  override stream(): ReturnType<File['stream']> {
    return Readable.toWeb(createReadStream(this.#path)) as ReturnType<File['stream']>;
  }
}
