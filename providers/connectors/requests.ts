import { createWriteStream } from 'node:fs';
import { RESOURCE_ERRORS, SourceError, type Validators } from '../../domain/connectors/connectors.js';
import {
  BlockedAddressError,
  type OutboundClient,
  type OutboundDownload,
  OutboundError,
  type OutboundResponse,
} from '../../domain/outbound.js';

/** Of one request, and of one resource. */
export type RequestLimits = Pick<OutboundDownload, 'timeoutMs' | 'maxBytes'>;

const NOT_MODIFIED = 304;
/** Values of ETag and Last-Modified that a request can repeat. */
const VALIDATOR = /^[!-~][ -~]{0,1023}$/;

export type Requests = ReturnType<typeof createRequests>;

/** The requests of connectors. All use the guarded client, and failures are SourceErrors with a message for the client. */
export function createRequests(outbound: OutboundClient, { timeoutMs, maxBytes }: RequestLimits) {
  return {
    /** Reads the beginning of a body into memory. @returns the response with any status. @throws SourceError */
    read(
      url: string,
      headers: Record<string, string>,
      maxResponseBytes: number,
      signal: AbortSignal,
    ): Promise<OutboundResponse> {
      return withSourceErrors(signal, () =>
        outbound.send({ method: 'GET', url, headers, timeoutMs, maxResponseBytes, signal }),
      );
    },

    /** Writes the body of a 2xx response to a file. @returns the response with any status. @throws SourceError */
    download(
      url: string,
      headers: Record<string, string>,
      path: string,
      signal: AbortSignal,
      most = maxBytes,
    ): Promise<Omit<OutboundResponse, 'body'>> {
      const request = { url, headers, timeoutMs, maxBytes: most, signal, to: createWriteStream(path) };
      return withSourceErrors(signal, () => outbound.download(request));
    },
  };
}

/** @throws SourceError for any status but 2xx and 304 */
export function checkStatus(status: number): void {
  if ((status >= 200 && status < 300) || isUnchanged(status)) return;
  throw isGone(status) ? new SourceError('NOT_FOUND') : statusError(status);
}

export function statusError(status: number, message = `The server responded with status ${status}.`): SourceError {
  return new SourceError('HTTP_STATUS', message, status >= 500 || status === 429);
}

export const isUnchanged = (status: number): boolean => status === NOT_MODIFIED;
export const isGone = (status: number): boolean => status === 404 || status === 410;

/** Headers that request the content only if it differs from this version. */
export function conditions({ etag, last_modified }: Validators): Record<string, string> {
  return {
    ...(etag === undefined ? {} : { 'If-None-Match': etag }),
    ...(last_modified === undefined ? {} : { 'If-Modified-Since': last_modified }),
  };
}

export function validatorsOf(headers: Record<string, string>): Validators {
  return { etag: sendable(headers.etag), last_modified: sendable(headers['last-modified']) };
}

/** Without a validator, the next sync downloads the resource; with one that cannot be sent, its requests would all fail. */
function sendable(validator: string | undefined): string | undefined {
  return validator !== undefined && VALIDATOR.test(validator) ? validator : undefined;
}

async function withSourceErrors<T>(signal: AbortSignal, request: () => Promise<T>): Promise<T> {
  try {
    return await request();
  } catch (error) {
    if (signal.aborted) throw signal.reason;
    if (error instanceof BlockedAddressError) {
      throw new SourceError('BLOCKED_ADDRESS', `${RESOURCE_ERRORS.BLOCKED_ADDRESS.slice(0, -1)}: ${error.message}.`);
    }
    if (!(error instanceof OutboundError)) throw error;
    if (error.code === 'ETOOLARGE') throw new SourceError('TOO_LARGE');
    throw new SourceError('UNREACHABLE', `The server could not be reached: ${error.message}.`, true);
  }
}
