/** The embedding model could not be asked, or refused. */
export class EmbeddingError extends Error {
  override readonly name = 'EmbeddingError';

  /** @param retryable false when asking again cannot help (a wrong key, an unknown model) */
  constructor(
    message: string,
    readonly retryable: boolean,
  ) {
    super(message);
  }
}
