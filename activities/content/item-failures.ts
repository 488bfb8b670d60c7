import { ApplicationFailure, CancelledFailure, Context } from '@temporalio/activity';
import { SUPERSEDED } from '../../domain/content/workflow-contract.js';
import { EmbeddingError } from '../../domain/errors.js';
import { ExtractionError, ITEM_ERRORS } from '../../domain/extraction.js';

/** After this many attempts an item is given up when the embedding model stays out of reach. */
const MAX_EMBEDDING_ATTEMPTS = 10;
/** A defect of our own is not a storage error and does not clear; it must not keep an item waiting for ever. */
const MAX_ATTEMPTS_AT_A_DEFECT = 5;

/** Nothing to do any more: the item was replaced or deleted. */
export function superseded(): ApplicationFailure {
  return ApplicationFailure.nonRetryable('This version of the item is no longer current.', SUPERSEDED);
}

export function isSuperseded(error: unknown): boolean {
  return error instanceof ApplicationFailure && error.type === SUPERSEDED;
}

/** Whether no attempt at this version of the item follows: the file is at fault, or the version is not wanted any more. */
export function isForGood(error: unknown): boolean {
  return error instanceof ExtractionError || isSuperseded(error);
}

/**
 * Turns any error of an item's activity into the failure that its workflow understands: the type is the item's
 * error code, and whether Temporal retries follows from it.
 * @param onTransient told of an error that will be retried, so that the status can show it
 */
export async function asItemFailure(
  error: unknown,
  onTransient: (code: string, message: string) => Promise<void>,
): Promise<Error> {
  if (error instanceof ApplicationFailure || error instanceof CancelledFailure) return error;
  if (error instanceof ExtractionError) return ApplicationFailure.nonRetryable(error.message, error.code);
  const { attempt } = Context.current().info;
  if (error instanceof EmbeddingError) {
    const final = !error.retryable || attempt >= MAX_EMBEDDING_ATTEMPTS;
    const failure = { message: ITEM_ERRORS.E3001, type: 'E3001', details: [error.message] };
    if (final) return ApplicationFailure.create({ ...failure, nonRetryable: true });
    await onTransient('E3001', ITEM_ERRORS.E3001);
    return ApplicationFailure.create(failure);
  }
  if (isDefect(error)) {
    return ApplicationFailure.create({
      message: `An internal error: ${error.name}`,
      type: 'INTERNAL_ERROR',
      nonRetryable: attempt >= MAX_ATTEMPTS_AT_A_DEFECT,
    });
  }
  await onTransient('E6001', ITEM_ERRORS.E6001);
  return ApplicationFailure.create({ message: ITEM_ERRORS.E6001, type: 'E6001' });
}

function isDefect(error: unknown): error is Error {
  return (
    error instanceof TypeError ||
    error instanceof RangeError ||
    error instanceof ReferenceError ||
    error instanceof SyntaxError
  );
}
