import type { Readable } from 'node:stream';

/** Where a file comes from. */
export interface FileOwner {
  org: string;
  /** `bat_…`: the request that uploaded the file. */
  batch: string;
}

/** A file that no item owns. */
export interface UnclaimedFile extends FileOwner {
  file_id: string;
}

/** The file store. Files are streamed and never loaded into memory as a whole. */
export interface FileStore {
  /** Stores the content. When the content fails, nothing is stored. @throws the content's error, or FileStoreError */
  write(fileId: string, owner: FileOwner, content: AsyncIterable<Buffer>): Promise<void>;

  /** @param range bytes to read; `end` is exclusive */
  read(fileId: string, range?: { start: number; end: number }): Readable;

  /** Copies a stored file to local disk, for parsers that need random access. */
  copyTo(fileId: string, path: string): Promise<void>;

  /** Does nothing when the file does not exist. */
  remove(fileId: string): Promise<void>;

  /** Records that items own the files of this request. */
  claim(owner: FileOwner): Promise<void>;

  /** @returns files that no item owns, because the process died during the request */
  unclaimedBefore(before: Date, limit: number): Promise<UnclaimedFile[]>;
}

/** The file store could not be reached, or failed. Another attempt may succeed. The cause is for the log. */
export class FileStoreError extends Error {
  override readonly name = 'FileStoreError';

  constructor(cause: unknown) {
    super('The file store failed.', { cause });
  }
}
