import type { Writable } from 'node:stream';

/**
 * Requests to addresses that others chose (webhook receivers, connector sources, file URLs). Everything that sends one
 * uses this interface; `providers/outbound/` implements it.
 */
export interface OutboundClient {
  /** Sends once. Redirects are returned, not followed. @throws BlockedAddressError or OutboundError */
  send(request: OutboundRequest): Promise<OutboundResponse>;
  /**
   * Streams the body of a 2xx response to a GET. For any other status nothing is written and `to` is destroyed. Redirects
   * are returned, not followed.
   * @throws BlockedAddressError or OutboundError, ETOOLARGE beyond `maxBytes`
   */
  download(request: OutboundDownload): Promise<Omit<OutboundResponse, 'body'>>;
  /**
   * Rejects a URL that `send` would reject. A name that cannot be resolved now is accepted, because `send` resolves it
   * again at each attempt.
   * @throws BlockedAddressError with the reason
   */
  check(url: string): Promise<void>;
  /** Closes pooled connections; running exchanges fail. */
  close(): Promise<void>;
}

export interface OutboundRequest {
  method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  url: string;
  headers: Record<string, string>;
  body?: Buffer;
  /** Milliseconds for the whole exchange: name lookup, connection, request and response. */
  timeoutMs: number;
  /** Bytes of the response body to read. The connection is closed after them. */
  maxResponseBytes: number;
  /** Only the status matters: the body is the part that arrives soon, and a body that breaks off does not fail the request. */
  excerpt?: boolean;
  signal?: AbortSignal;
}

export interface OutboundResponse {
  status: number;
  /** Lower-case names. */
  headers: Record<string, string>;
  /** At most `maxResponseBytes` long. */
  body: Buffer;
}

export interface OutboundDownload {
  url: string;
  headers?: Record<string, string>;
  /** Milliseconds for the whole download. */
  timeoutMs: number;
  maxBytes: number;
  signal?: AbortSignal;
  /** Receives the body; ended when it is complete, destroyed when the download fails. */
  to: Writable;
}

/** Postback does not send requests to this address. A retry does not change that. */
export class BlockedAddressError extends Error {
  override readonly name = 'BlockedAddressError';
  readonly code = 'EBLOCKED';
}

/** The exchange failed. `message` is short, holds no internals, and may be stored in a delivery record. */
export class OutboundError extends Error {
  override readonly name = 'OutboundError';
  /**
   * A system code (ECONNREFUSED, ETIMEDOUT, ENOTFOUND, …), a certificate error (CERT_HAS_EXPIRED, …), EPROTO, EPROXY,
   * ECANCELED or ETOOLARGE.
   */
  readonly code: string;

  constructor(code: string, message: string) {
    super(message);
    this.code = code;
  }
}
