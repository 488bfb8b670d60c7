/** One exchange with a server: a request, and the beginning of its response. */
import type { Dispatcher } from 'undici';
import { GrowingBuffer } from '../../domain/growing-buffer.js';
import type { OutboundRequest, OutboundResponse } from '../../domain/outbound.js';
import { cancelled, createInterimLimit, describeFailure, timedOut } from './failure.js';
import { joinValues } from './response.js';

/** How long an excerpt waits for the beginning of a body. */
const EXCERPT_MS = 1_000;
/** Reserved for a body; most are shorter. */
const FIRST_BYTES = 1_024;

type Limits = Pick<OutboundRequest, 'timeoutMs' | 'maxResponseBytes' | 'excerpt' | 'signal'>;

/**
 * Sends a request and reads its response within the limits. Works without streams and abort signals, because these cost
 * more than the request itself.
 * @throws BlockedAddressError or OutboundError
 */
export function exchange(
  dispatcher: Pick<Dispatcher, 'dispatch'>,
  request: Dispatcher.DispatchOptions,
  { timeoutMs, maxResponseBytes, excerpt = false, signal }: Limits,
): Promise<OutboundResponse> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted) return reject(cancelled());
    const body = new GrowingBuffer(Math.min(maxResponseBytes, FIRST_BYTES));
    let room = maxResponseBytes;
    let response: Omit<OutboundResponse, 'body'> | undefined;
    let controller: Dispatcher.DispatchController | undefined;
    let ended = false;
    const checkInterim = createInterimLimit();
    let excerptEnds: NodeJS.Timeout | undefined;
    const timeLimit = setTimeout(() => stop(timedOut(timeoutMs)), timeoutMs);
    const cancel = () => stop(cancelled());
    signal?.addEventListener('abort', cancel, { once: true });

    const end = () => {
      ended = true;
      clearTimeout(timeLimit);
      clearTimeout(excerptEnds);
      signal?.removeEventListener('abort', cancel);
    };
    const succeed = () => {
      if (ended) return;
      end();
      resolve({ ...response!, body: body.bytes });
    };
    const fail = (error: unknown) => {
      if (ended) return;
      end();
      reject(describeFailure(error));
    };
    /** Fails, and closes the connection, or does not open one. */
    const stop = (error: Error) => {
      fail(error);
      controller?.abort(error);
    };

    dispatcher.dispatch(request, {
      onRequestStart(started) {
        controller = started;
        // The request waited for a connection for too long.
        if (ended) started.abort(cancelled());
      },
      onResponseStart(_controller, status, headers) {
        if (ended) return;
        if (status < 200) {
          const excess = checkInterim();
          return excess && stop(excess);
        }
        response = { status, headers: joinValues(headers) };
        if (excerpt) {
          excerptEnds = setTimeout(() => {
            succeed();
            controller?.abort(cancelled());
          }, EXCERPT_MS);
        }
      },
      onResponseData(_controller, chunk) {
        if (ended) return;
        body.append(chunk.subarray(0, room));
        room -= chunk.length;
        if (room >= 0) return;
        succeed();
        // The rest is not read.
        controller?.abort(cancelled());
      },
      onResponseEnd: succeed,
      onResponseError(_controller, error) {
        // The status is known, so a body that breaks off does not fail the exchange.
        if (excerpt && response) succeed();
        else fail(error);
      },
    });
  });
}
