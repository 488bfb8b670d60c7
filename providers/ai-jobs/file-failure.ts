import { ProviderError } from '../../domain/errors.js';
import { ExtractionError, ITEM_ERRORS, type ItemErrorCode } from '../../domain/extraction.js';

/** Said in other words to the sender of a job than to that of an item. */
const SENTENCES: Partial<Record<ItemErrorCode, string>> = {
  E2002: 'The file is encrypted. Remove the password and send it again.',
  E2004: 'No text was found in the file.',
};

/** What is wrong with a job's file, fit for the client; no retry changes it. @param detail must not quote the document */
export function fileFailure(code: ItemErrorCode, detail?: string): ProviderError {
  const sentence = SENTENCES[code] ?? ITEM_ERRORS[code];
  return new ProviderError(detail ? `${sentence} ${detail}` : sentence, false);
}

/** @returns what to throw in place of an extraction's error */
export function asProviderError(error: unknown): unknown {
  return error instanceof ExtractionError ? fileFailure(error.code, error.detail) : error;
}
