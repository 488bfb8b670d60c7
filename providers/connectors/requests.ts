import { createWriteStream } from 'node:fs';
import { gunzip } from 'node:zlib';
import { RESOURCE_ERRORS, SourceError } from '../../domain/connectors/connectors.js';
import {
  BlockedAddressError,
  type OutboundClient,
  OutboundError,
  type OutboundResponse,
} from '../../domain/outbound.js';
import type { Validators } from './source.js';

export interface RequestLimits {
  /** Milliseconds of one request. */
  timeoutMs: number;
  /** Bytes of one resource. */
  maxBytes: number;
}

/** Listings are read into memory. The largest common ones are sitemaps, with up to 50 MB. */
const MAX_LISTING_BYTES = 64 * 1024 * 1024;
const NOT_MODIFIED = 304;

export type Requests = ReturnType<typeof createRequests>;

/** The requests of connectors. All use the guarded client, and failures are SourceErrors with a message for the client. */
export function createRequests(outbound: OutboundClient, { timeoutMs, maxBytes }: RequestLimits) {
  return {
    /** Reads a listing and unzips it. @returns the response with any status. @throws SourceError */
    async read(url: string, headers: Record<string, string>, signal: AbortSignal): Promise<OutboundResponse> {
      const maxResponseBytes = MAX_LISTING_BYTES + 1;
      const response = await withSourceErrors(signal, () =>
        outbound.send({ method: 'GET', url, headers, timeoutMs, maxResponseBytes, signal }),
      );
      if (response.body.length > MAX_LISTING_BYTES) throw new SourceError('TOO_LARGE');
      return { ...response, body: await unzip(response.body) };
    },

    /** Writes the body of a 2xx response to a file. @returns the response with any status. @throws SourceError */
    download(url: string, headers: Record<string, string>, path: string, signal: AbortSignal) {
      const to = createWriteStream(path);
      return withSourceErrors(signal, () =>
        outbound.download({ url, headers, timeoutMs, maxBytes, signal, to }),
      ).finally(() => to.destroy());
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
  return { etag: headers.etag, last_modified: headers['last-modified'] };
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

/** Unzips a gzipped body, recognised by its first bytes; returns any other body unchanged. @throws SourceError */
function unzip(body: Buffer): Promise<Buffer> {
  if (body[0] !== 0x1f || body[1] !== 0x8b) return Promise.resolve(body);
  return new Promise((resolve, reject) => {
    gunzip(body, { maxOutputLength: MAX_LISTING_BYTES }, (error, plain) => {
      if (!error) return resolve(plain);
      const tooLarge = (error as { code?: string }).code === 'ERR_BUFFER_TOO_LARGE';
      reject(new SourceError(tooLarge ? 'TOO_LARGE' : 'INVALID_LISTING'));
    });
  });
}
