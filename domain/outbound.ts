import type { Writable } from 'node:stream';

/** The one way Postback speaks to addresses that others chose: an interface here, the guarded client under `providers/outbound/`. */

export interface OutboundRequest {
  method: 'GET' | 'POST';
  url: string;
  headers: Record<string, string>;
  body?: Buffer;
  /** Milliseconds for the whole exchange: name lookup, connection, request and answer. */
  timeoutMs: number;
  /** Bytes of the answer that are read and kept; the rest is discarded and the connection closed. */
  maxAnswerBytes: number;
  /** The status is what counts: a body that comes late or breaks off is left out, and is no failure. */
  excerpt?: boolean;
  signal?: AbortSignal;
}

export interface OutboundDownload {
  url: string;
  headers?: Record<string, string>;
  /** Milliseconds for the whole of it. */
  timeoutMs: number;
  maxBytes: number;
  signal?: AbortSignal;
  /** Takes the content as it comes; ended when it is complete, destroyed when it fails. */
  to: Writable;
}

export interface OutboundAnswer {
  status: number;
  /** Lower-case names. */
  headers: Record<string, string>;
  /** At most `maxAnswerBytes` long. */
  body: Buffer;
}

/** The address is one Postback never speaks to; no retry changes that on its own. */
export class BlockedAddressError extends Error {
  override readonly name = 'BlockedAddressError';
  readonly code = 'EBLOCKED';
}

/** The exchange failed on the way. `message` is short, without internals, and fit for a delivery record. */
export class OutboundError extends Error {
  override readonly name = 'OutboundError';

  /** @param code a system code (ECONNREFUSED, ETIMEDOUT, ENOTFOUND, …), a certificate's (CERT_HAS_EXPIRED, …), EPROTO or ECANCELED, ETOOLARGE */
  constructor(
    readonly code: string,
    message: string,
  ) {
    super(message);
  }
}

export interface OutboundClient {
  /** Sends once: redirects are returned, not followed. @throws BlockedAddressError or OutboundError */
  send(request: OutboundRequest): Promise<OutboundAnswer>;
  /**
   * Streams what a GET answers with 2xx; any other answer is returned with nothing written, and `to` destroyed. Redirects are not followed.
   * @throws BlockedAddressError or OutboundError, ETOOLARGE beyond `maxBytes`
   */
  download(request: OutboundDownload): Promise<Omit<OutboundAnswer, 'body'>>;
  /**
   * Resolves when the URL may be used as far as can be known now: a name that cannot be resolved passes, as `send` looks
   * again at each attempt. @throws BlockedAddressError with the reason
   */
  check(url: string): Promise<void>;
  /** Ends pooled connections; exchanges under way fail. */
  close(): Promise<void>;
}
