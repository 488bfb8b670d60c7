/** The file store could not be reached, or failed. Passes by itself; the cause is for the log. */
export class FileStoreError extends Error {
  override readonly name = 'FileStoreError';

  constructor(cause: unknown) {
    super('The file store failed.', { cause });
  }
}
