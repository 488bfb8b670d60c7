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
  /** Of one resource. */
  maxBytes: number;
}

/** Listings are read into memory; the largest that are usual are sitemaps with their 50 MB. */
const MAX_LISTING_BYTES = 64 * 1024 * 1024;
const NOT_MODIFIED = 304;

export type Requests = ReturnType<typeof createRequests>;

/** The requests of connectors: all of them through the guarded client, with failures in words for a person. */
export function createRequests(outbound: OutboundClient, { timeoutMs, maxBytes }: RequestLimits) {
  return {
    /** A listing, unzipped. @returns any answer as it is. @throws SourceError */
    async read(url: string, headers: Record<string, string>, signal: AbortSignal): Promise<OutboundResponse> {
      const answer = await explained(signal, () =>
        outbound.send({ method: 'GET', url, headers, timeoutMs, maxResponseBytes: MAX_LISTING_BYTES + 1, signal }),
      );
      if (answer.body.length > MAX_LISTING_BYTES) throw new SourceError('TOO_LARGE');
      return { ...answer, body: await unzipped(answer.body) };
    },

    /** A resource into a local file. @returns any answer; only one of 2xx has been written. @throws SourceError */
    download(url: string, headers: Record<string, string>, path: string, signal: AbortSignal) {
      const to = createWriteStream(path);
      return explained(signal, () => outbound.download({ url, headers, timeoutMs, maxBytes, signal, to })).finally(() =>
        to.destroy(),
      );
    },
  };
}

/** @throws SourceError for anything but 2xx and 304 */
export function refuseStatus(status: number): void {
  if ((status >= 200 && status < 300) || status === NOT_MODIFIED) return;
  const passing = status >= 500 || status === 429;
  if (status === 404 || status === 410) throw new SourceError('NOT_FOUND');
  throw new SourceError('HTTP_STATUS', `The server answered ${status}.`, passing);
}

export const isUnchanged = (status: number): boolean => status === NOT_MODIFIED;

/** Headers that ask for the content only if it is another than these say. */
export function conditions({ etag, last_modified }: Validators): Record<string, string> {
  return {
    ...(etag === undefined ? {} : { 'If-None-Match': etag }),
    ...(last_modified === undefined ? {} : { 'If-Modified-Since': last_modified }),
  };
}

export function validatorsOf(headers: Record<string, string>): Validators {
  return { etag: headers.etag, last_modified: headers['last-modified'] };
}

async function explained<T>(signal: AbortSignal, request: () => Promise<T>): Promise<T> {
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

/** As it is when it is not gzip, whatever a header or a name says. @throws SourceError beyond the limit */
function unzipped(body: Buffer): Promise<Buffer> {
  if (body[0] !== 0x1f || body[1] !== 0x8b) return Promise.resolve(body);
  return new Promise((resolve, reject) => {
    gunzip(body, { maxOutputLength: MAX_LISTING_BYTES }, (error, plain) => {
      if (!error) resolve(plain);
      else
        reject(
          new SourceError(
            (error as { code?: string }).code === 'ERR_BUFFER_TOO_LARGE' ? 'TOO_LARGE' : 'INVALID_LISTING',
          ),
        );
    });
  });
}
