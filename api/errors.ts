import { ServiceError as TemporalServiceError } from '@temporalio/client';
import type { Middleware } from 'koa';
import { MongoError, MongoNetworkError, MongoServerError, MongoServerSelectionError } from 'mongodb';
import type { Logger } from 'pino';
import { SearchIndexError } from '../domain/content/search.js';
import { EmbeddingError, ServiceError } from '../domain/errors.js';
import { FileStoreError } from '../domain/file-store.js';
import type { ErrorShape } from './envelope.js';
import type { RequestState } from './request-context.js';

const RETRY_AFTER_SECONDS = 5;
/** MongoDB's code for a transaction that does not fit into its cache (TransactionTooLargeForCache). */
const TOO_LARGE_FOR_CACHE = 388;
/** MongoDB's code for a transaction whose limit of time passed during an operation (TransactionExceededLifetimeLimitSeconds). */
const TRANSACTION_TOOK_TOO_LONG = 290;

/** The one place where an error becomes a `ServiceError` and is sent; an unknown error is sent as INTERNAL_ERROR (500). */
export function handleErrors(log: Logger, shape: ErrorShape): Middleware<RequestState> {
  return async (ctx, next) => {
    try {
      await next();
      if (ctx.status === 404 && ctx.body === undefined) {
        throw new ServiceError('NOT_FOUND', `There is no route ${ctx.method} ${ctx.path}.`);
      }
    } catch (error) {
      const serviceError = asServiceError(error);
      if (serviceError.status >= 500) log.error({ err: error, request_id: ctx.state.request_id }, 'request failed');
      const { status, retryAfterSeconds } = serviceError;
      ctx.status = status === 422 && shape.invalidInputIs400 ? 400 : status;
      if (retryAfterSeconds !== undefined) ctx.set('Retry-After', String(Math.ceil(retryAfterSeconds)));
      ctx.body = shape.describe(serviceError, ctx);
    }
  };
}

function asServiceError(error: unknown): ServiceError {
  if (error instanceof ServiceError) return error;
  if (error instanceof MongoServerError && error.code === TOO_LARGE_FOR_CACHE)
    return new ServiceError(
      'PAYLOAD_TOO_LARGE',
      'The request is too large for one transaction of the database. Send it in parts.',
    );
  if (error instanceof MongoError && isTransient(error)) return unavailable('The database');
  if (error instanceof TemporalServiceError) return unavailable('The workflow service');
  if (error instanceof FileStoreError) return unavailable('The file store');
  if (error instanceof SearchIndexError) return unavailable('The search index');
  if (error instanceof EmbeddingError) return unavailable('The embedding model');
  return new ServiceError(
    'INTERNAL_ERROR',
    'An internal error occurred. Quote its request id (X-Request-Id) when you report it.',
  );
}

/** The database is unreachable, has no primary, or is too busy for a transaction at the moment. */
function isTransient(error: MongoError): boolean {
  if (error instanceof MongoNetworkError || error instanceof MongoServerSelectionError) return true;
  // Without a label, unlike a limit that passes between two operations: the driver does not repeat the transaction.
  if (error.code === TRANSACTION_TOOK_TOO_LONG) return true;
  return error.hasErrorLabel('RetryableWriteError') || error.hasErrorLabel('TransientTransactionError');
}

function unavailable(subject: string): ServiceError {
  return new ServiceError('SERVICE_UNAVAILABLE', `${subject} is not available at the moment.`, {
    retryAfterSeconds: RETRY_AFTER_SECONDS,
  });
}
