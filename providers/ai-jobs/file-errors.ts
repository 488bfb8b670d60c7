import { ProviderError } from '../../domain/errors.js';
import { ExtractionError, ITEM_ERRORS, type ItemErrorCode } from '../../domain/extraction.js';

/** Sentences of item errors in the words of a job. */
const SENTENCES: Partial<Record<ItemErrorCode, string>> = {
  E2002: 'The file is encrypted. Remove the password and send it again.',
  E2004: 'No text was found in the file.',
};

/** @returns a permanent ProviderError for an ExtractionError, and any other error unchanged */
export function asProviderError(error: unknown): unknown {
  if (!(error instanceof ExtractionError)) return error;
  const sentence = SENTENCES[error.code] ?? ITEM_ERRORS[error.code];
  return new ProviderError(error.detail ? `${sentence} ${error.detail}` : sentence, false);
}
