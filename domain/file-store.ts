import type { Readable } from 'node:stream';

export interface FileOwner {
  org: string;
  /** The request that the file came with. */
  batch: string;
}

/** The file store: files come and go as streams and are never whole in memory. */
export interface FileStore {
  /** Stores what a stream holds. When that breaks off, it rejects with the stream's error and nothing stays. */
  write(fileId: string, owner: FileOwner, content: AsyncIterable<Buffer>): Promise<void>;

  /** @param range bytes to read, `end` not included */
  read(fileId: string, range?: { start: number; end: number }): Readable;

  /** Copies a stored file to local disk, for parsers that need random access. */
  copyTo(fileId: string, path: string): Promise<void>;

  /** Does nothing where there is no such file. */
  remove(fileId: string): Promise<void>;

  /** The files of this request belong to items now. */
  claim(batch: string): Promise<void>;

  /** Files of requests that never became items, because their process died in the middle. */
  unclaimedBefore(before: Date, limit: number): Promise<{ file_id: string; batch: string }[]>;
}

/** The file store could not be reached, or failed. Passes by itself; the cause is for the log. */
export class FileStoreError extends Error {
  override readonly name = 'FileStoreError';

  constructor(cause: unknown) {
    super('The file store failed.', { cause });
  }
}
