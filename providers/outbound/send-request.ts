/** One request to a server, until its response is complete, or as complete as the caller needs it. */
import type { Dispatcher } from 'undici';
import { OutboundError, type OutboundResponse } from '../../domain/outbound.js';
import { describeFailure } from './failure.js';

export type ResponseHead = Omit<OutboundResponse, 'body'>;

/** What the caller does with the response. Nothing is called after the request has succeeded or failed. */
export interface ResponseReader {
  onHead(head: ResponseHead): void;
  onData(chunk: Buffer, controller: Dispatcher.DispatchController): void;
  onEnd(): void;
  /** The connection failed, or the time is over. */
  onError(error: Error): void;
  /** The request has succeeded or failed. */
  onSettled?(): void;
}

/** Interim responses (1xx) before a response. Servers send one or two; each costs as much as a response. */
const MAX_INTERIM = 16;

export interface PendingRequest<Result> {
  succeed(result: Result): void;
  fail(error: unknown): void;
  /** Fails, and closes the connection, or does not open one. */
  stop(error: unknown): void;
  /** Closes the connection: the rest of the response is not read. */
  close(): void;
}

/**
 * Sends a request. Works without streams and abort signals, because these cost more than the request itself.
 * @param read reports, through the pending request, when the response is complete
 * @throws BlockedAddressError or OutboundError
 */
export function sendRequest<Result>(
  dispatcher: Pick<Dispatcher, 'dispatch'>,
  request: Dispatcher.DispatchOptions,
  { timeoutMs, signal }: { timeoutMs: number; signal?: AbortSignal | undefined },
  read: (pending: PendingRequest<Result>) => ResponseReader,
): Promise<Result> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted) return reject(cancelled());
    let controller: Dispatcher.DispatchController | undefined;
    let settled = false;
    let interim = 0;
    const timeLimit = setTimeout(() => {
      // The reader decides: a response whose status is known may be enough.
      reader.onError(new OutboundError('ETIMEDOUT', `timed out after ${timeoutMs} ms`));
      close();
    }, timeoutMs);
    const cancel = () => stop(cancelled());
    signal?.addEventListener('abort', cancel, { once: true });

    const settle = () => {
      settled = true;
      clearTimeout(timeLimit);
      signal?.removeEventListener('abort', cancel);
      reader.onSettled?.();
    };
    const succeed = (result: Result) => {
      if (settled) return;
      settle();
      resolve(result);
    };
    const fail = (error: unknown) => {
      if (settled) return;
      settle();
      reject(describeFailure(error));
    };
    const close = () => controller?.abort(cancelled());
    const stop = (error: unknown) => {
      if (settled) return;
      fail(error);
      close();
    };
    const reader = read({ succeed, fail, stop, close });

    dispatcher.dispatch(request, {
      onRequestStart(started) {
        controller = started;
        // The request waited for a connection for too long.
        if (settled) close();
      },
      onResponseStart(_controller, status, headers) {
        if (settled) return;
        if (status >= 200) return reader.onHead({ status, headers: joinValues(headers) });
        if (++interim > MAX_INTERIM) stop(new OutboundError('EPROTO', 'too many interim responses'));
      },
      onResponseData(reading, chunk) {
        if (!settled) reader.onData(chunk, reading);
      },
      onResponseEnd() {
        if (!settled) reader.onEnd();
      },
      onResponseError(_controller, error) {
        if (!settled) reader.onError(error);
      },
    });
  });
}

const cancelled = () => new OutboundError('ECANCELED', 'cancelled');

/** Headers with one string per name. */
function joinValues(headers: Dispatcher.ResponseData['headers']): Record<string, string> {
  const joined: Record<string, string> = {};
  for (const name in headers) {
    const value = headers[name];
    joined[name] = Array.isArray(value) ? value.join(', ') : (value ?? '');
  }
  return joined;
}
