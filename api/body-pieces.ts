import type { IncomingMessage } from 'node:http';
import { setImmediate } from 'node:timers/promises';
import { ServiceError } from '../domain/errors.js';

/** @throws ServiceError INVALID_PARAMETERS for a compressed body, because its inflated size is not known before it is read */
export function rejectCompressedBody({ headers }: IncomingMessage): void {
  const encoding = headers['content-encoding'];
  if (encoding === undefined || encoding.toLowerCase() === 'identity') return;
  throw new ServiceError('INVALID_PARAMETERS', 'The body must not be compressed; send it without Content-Encoding.');
}

const never = new AbortController().signal;

/**
 * Reads a body in pieces, one in each turn of the event loop. Node has an event for each chunk that a client sends, so that a
 * megabyte in chunks of one byte would hold up all others for seconds. A piece is all that has arrived since the last
 * one; while it waits for its turn, the connection is not read further than Node's buffer.
 * When the loop ends early, the rest of the body is discarded in the same way.
 * @throws Error when the connection ends before the body, or the reason of the signal
 */
export async function* piecesOf(request: IncomingMessage, signal = never): AsyncGenerator<Buffer> {
  try {
    yield* pieces(request, signal);
  } finally {
    void discardBody(request);
  }
}

/** Reads the rest of a body, for clients that read a response only after they have sent everything. */
export async function discardBody(request: IncomingMessage): Promise<void> {
  try {
    for await (const _ of pieces(request, never));
  } catch {
    // The connection has ended, and the body with it.
  }
}

async function* pieces(request: IncomingMessage, signal: AbortSignal): AsyncGenerator<Buffer> {
  let wake: () => void = () => undefined;
  const change = () => wake();
  const events = ['readable', 'end', 'close', 'error'] as const;
  for (const event of events) request.on(event, change);
  signal.addEventListener('abort', change);
  try {
    while (!request.readableEnded) {
      signal.throwIfAborted();
      const piece: Buffer | null = request.read();
      if (piece !== null) yield piece;
      else if (request.destroyed) throw new Error('The connection ended before the body.');
      else
        await new Promise<void>((resolve) => {
          wake = resolve;
        });
      await setImmediate();
    }
  } finally {
    for (const event of events) request.off(event, change);
    signal.removeEventListener('abort', change);
  }
}
