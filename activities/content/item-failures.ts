import { ApplicationFailure, CancelledFailure } from '@temporalio/activity';
import {
  ITEM_INTERNAL_ERROR,
  type ItemOutcome,
  type ItemRef,
  SUPERSEDED,
} from '../../domain/content/workflow-contract.js';
import { EmbeddingError, LanguageDataError } from '../../domain/errors.js';
import { ExtractionError, ITEM_ERRORS, type ItemErrorCode } from '../../domain/extraction.js';
import { INTERNAL_ERROR } from '../../domain/workflow-contract.js';
import { ProcessLostError } from '../../providers/isolation/protocol.js';
import type { Items } from '../../storage/content/items.js';
import {
  asActivityFailure,
  attemptNumber,
  type ClientError,
  type FailureRules,
  MAX_DEFECT_ATTEMPTS,
} from '../failures.js';
import { withHeartbeat } from '../heartbeat.js';

/** Shown until the item is tried again. */
const LOST_PROCESS = 'The process that read the item ended unexpectedly; the item is tried again.';

/** Attempts after which an unreachable embedding model, or data that cannot be fetched, fail the item. */
const MAX_MODEL_ATTEMPTS = 10;

/** Ends the work on a version that was replaced or deleted. */
export function superseded(): ApplicationFailure {
  return ApplicationFailure.nonRetryable('This version of the item is no longer current.', SUPERSEDED);
}

export function isSuperseded(error: unknown): boolean {
  return error instanceof ApplicationFailure && error.type === SUPERSEDED;
}

/** Failures of an item's activities carry the item's error code (specification, "Ingestion error codes"). */
const itemFailureRules: FailureRules = { describe: describeItemError, maxDefectAttempts: MAX_DEFECT_ATTEMPTS };

/** @returns the outcome of an item after its last attempt; null when another attempt follows */
export function finalOutcome(error: unknown): ItemOutcome | null {
  const failure = asActivityFailure(error, itemFailureRules);
  if (!(failure instanceof ApplicationFailure) || !failure.nonRetryable) return null;
  const error_code = failure.type!;
  return {
    status: 'errored',
    error_code,
    error_message: error_code === INTERNAL_ERROR ? ITEM_INTERNAL_ERROR : failure.message,
  };
}

/** Shows an error that is being retried in the status of the items. Best effort: without MongoDB no status can be read. */
export async function showTransientError(
  items: Pick<Items, 'setTransientError'>,
  versions: readonly ItemRef[],
  error: unknown,
): Promise<void> {
  if (error instanceof ApplicationFailure || error instanceof CancelledFailure) return;
  const { retryable, code, message } = describeItemError(error) ?? {};
  if (retryable) await items.setTransientError(versions, code!, message!).catch(() => undefined);
}

/** Runs a step of these versions with heartbeats, shows an error that is retried, and maps errors to failures. */
export async function itemStep<T>(
  items: Pick<Items, 'setTransientError'>,
  versions: readonly ItemRef[],
  step: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  try {
    return await withHeartbeat(step);
  } catch (error) {
    await showTransientError(items, versions, error);
    throw asActivityFailure(error, itemFailureRules);
  }
}

/** @returns undefined for a defect of this service; any other unknown error counts as a transient storage error */
export function describeItemError(error: unknown): ClientError | undefined {
  if (error instanceof ExtractionError) return { code: error.code, message: error.message, retryable: false };
  if (error instanceof EmbeddingError) {
    return itemError('E3001', error.retryable && attemptNumber() < MAX_MODEL_ATTEMPTS);
  }
  if (error instanceof LanguageDataError) {
    return { code: 'E3001', message: error.message, retryable: attemptNumber() < MAX_MODEL_ATTEMPTS };
  }
  if (error instanceof ProcessLostError) return { code: 'E2003', message: LOST_PROCESS, retryable: true };
  return isDefect(error) ? undefined : itemError('E6001', true);
}

function itemError(code: ItemErrorCode, retryable: boolean): ClientError {
  return { code, message: ITEM_ERRORS[code], retryable };
}

function isDefect(error: unknown): boolean {
  return [TypeError, RangeError, ReferenceError, SyntaxError].some((defect) => error instanceof defect);
}
