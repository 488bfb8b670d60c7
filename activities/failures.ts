/** Errors as the failures of activities: those that an activity maps itself, and all others. */
import { ApplicationFailure, CancelledFailure, CompleteAsyncError, Context } from '@temporalio/activity';
import { ApplicationFailureCategory } from '@temporalio/common';
import { isAbortError } from '@temporalio/common/lib/type-helpers.js';
import type { ActivityInterceptorsFactory } from '@temporalio/worker';
import { MongoError } from 'mongodb';
import type { Logger } from 'pino';
import { SearchIndexError } from '../domain/content/search.js';
import { FileStoreError } from '../domain/file-store.js';
import { DAY_MS } from '../domain/webhooks/delivery-policy.js';
import { FOR_CLIENT, INTERNAL_ERROR } from '../domain/workflow-contract.js';

/** An error whose code and message a client may read. */
export interface ClientError {
  code: string;
  message: string;
  retryable: boolean;
  /** Milliseconds until the next attempt; without it the retry policy of the workflow decides. */
  retryAfterMs?: number | undefined;
  /** The input or a provider is at fault, so the worker does not log and count this as a failure of its own. */
  benign?: boolean;
}

export interface FailureRules {
  /** @returns the error as the client may read it; undefined for an unknown error */
  describe(error: unknown): ClientError | undefined;
  /** Attempts after which an unknown error is final. Without it the retry policy of the workflow decides. */
  maxDefectAttempts?: number;
}

/** A defect of this service is not transient like a storage error, so its retries are limited. */
export const MAX_DEFECT_ATTEMPTS = 5;

/** Number of the current attempt at this activity, from 1. */
export const attemptNumber = (): number => Context.current().info.attempt;

/**
 * Maps an error to the failure of an activity: its type is the code, and it says whether Temporal retries. The history
 * contains only the class of an unknown error. The interceptor logs the error itself, which is the cause of the failure.
 */
export function asActivityFailure(
  error: unknown,
  { describe, maxDefectAttempts = Number.POSITIVE_INFINITY }: FailureRules,
): Error {
  if (error instanceof ApplicationFailure || error instanceof CancelledFailure) return error;
  if (Context.current().cancellationSignal.aborted) return new CancelledFailure('cancelled');
  const described = describe(error);
  const cause = error instanceof Error ? error : undefined;
  if (described) {
    return ApplicationFailure.create({
      cause,
      type: described.code,
      message: described.message,
      nonRetryable: !described.retryable,
      nextRetryDelay: described.retryAfterMs,
      details: [FOR_CLIENT],
      ...(described.benign ? { category: ApplicationFailureCategory.BENIGN } : {}),
    });
  }
  return internalFailure(error, {
    cause,
    nonRetryable: !isStorageError(error) && attemptNumber() >= maxDefectAttempts,
  });
}

/** The failure of an unknown error. It names the class, and not `error.name`, which some clients take from a response. */
function internalFailure(
  error: unknown,
  options: { nonRetryable?: boolean; cause?: Error | undefined } = {},
): ApplicationFailure {
  const kind = error instanceof Error ? error.constructor.name : typeof error;
  return ApplicationFailure.create({ type: INTERNAL_ERROR, message: `An internal error: ${kind}`, ...options });
}

/** Storage errors are transient. */
function isStorageError(error: unknown): boolean {
  return error instanceof MongoError || error instanceof FileStoreError || error instanceof SearchIndexError;
}

/**
 * Keeps the text of foreign errors out of the workflows' histories: it can contain documents, addresses and credentials.
 * Errors are logged; of one that an activity did not map itself, the history gets only its class.
 */
export function createFailureInterceptor(log: Pick<Logger, 'warn'>): ActivityInterceptorsFactory {
  return () => ({
    inbound: {
      async execute(input, next) {
        try {
          return await next(input);
        } catch (error) {
          throw forHistory(error, input.args[0], log);
        }
      },
    },
  });
}

/** @param work of the activity: it names the job or the item where one workflow has several */
function forHistory(error: unknown, work: unknown, log: Pick<Logger, 'warn'>): unknown {
  if (error instanceof CompleteAsyncError || error instanceof CancelledFailure) return error;
  const { cancellationSignal, info } = Context.current();
  if (isAbortError(error) && cancellationSignal.aborted) return new CancelledFailure('cancelled');
  const isMapped = error instanceof ApplicationFailure;
  if (!isMapped || error.cause !== undefined || !hasValidDelay(error)) {
    const { activityType: activity, attempt, workflowExecution } = info;
    const { job, item } = Object(work) as { job?: string; item?: string };
    const err = (isMapped && error.cause) || error;
    log.warn({ err, activity, attempt, workflow: workflowExecution?.workflowId, job, item }, 'activity failed');
  }
  return isMapped ? encodable(error) : internalFailure(error);
}

/** Far longer than any schedule. */
const MAX_DELAY_MS = 366 * DAY_MS;

/** Characters of a message. Those of other servers are quoted in part. */
const MAX_MESSAGE = 2_000;

/** A delay that the SDK cannot encode comes from other servers in part. */
function hasValidDelay({ nextRetryDelay: delay }: ApplicationFailure): boolean {
  return typeof delay !== 'number' || (delay >= 0 && delay <= MAX_DELAY_MS);
}

/**
 * A failure that the SDK cannot encode would end the worker process, and each process that repeats the activity. Texts with
 * half a character cannot be encoded, so each failure is built again here, its stack included.
 */
function encodable(error: ApplicationFailure): Error {
  const { type, nonRetryable, details, nextRetryDelay, category } = error;
  const message = error.message.slice(0, MAX_MESSAGE).toWellFormed();
  const delay = hasValidDelay(error) ? nextRetryDelay : undefined;
  return new ApplicationFailure(message, type?.toWellFormed(), nonRetryable, details, undefined, delay, category);
}
