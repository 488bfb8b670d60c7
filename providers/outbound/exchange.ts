/** One exchange with a server: a request, and the beginning of its response. */
import type { Dispatcher } from 'undici';
import { GrowingBuffer } from '../../domain/growing-buffer.js';
import type { OutboundRequest, OutboundResponse } from '../../domain/outbound.js';
import { type ResponseHead, sendRequest } from './send-request.js';

/** How long an excerpt waits for the beginning of a body. */
const EXCERPT_MS = 1_000;
/** Reserved for a body; most are shorter. */
const FIRST_BYTES = 1_024;

type Limits = Pick<OutboundRequest, 'timeoutMs' | 'maxResponseBytes' | 'excerpt' | 'signal'>;

/**
 * Sends a request and reads its response within the limits.
 * @throws BlockedAddressError or OutboundError
 */
export function exchange(
  dispatcher: Pick<Dispatcher, 'dispatch'>,
  request: Dispatcher.DispatchOptions,
  { timeoutMs, maxResponseBytes, excerpt = false, signal }: Limits,
): Promise<OutboundResponse> {
  return sendRequest<OutboundResponse>(dispatcher, request, { timeoutMs, signal }, (pending) => {
    const body = new GrowingBuffer(Math.min(maxResponseBytes, FIRST_BYTES));
    let room = maxResponseBytes;
    let response: ResponseHead | undefined;
    let excerptEnds: NodeJS.Timeout | undefined;

    const succeed = () => pending.succeed({ ...response!, body: body.bytes });
    const succeedEarly = () => {
      succeed();
      pending.close();
    };
    return {
      onHead(head) {
        response = head;
        if (excerpt) excerptEnds = setTimeout(succeedEarly, EXCERPT_MS);
      },
      onData(chunk) {
        body.append(chunk.subarray(0, room));
        room -= chunk.length;
        if (room < 0) succeedEarly();
      },
      onEnd: succeed,
      onError(error) {
        // The status is known, so a body that breaks off does not fail the exchange.
        if (excerpt && response) succeed();
        else pending.fail(error);
      },
      onSettled: () => clearTimeout(excerptEnds),
    };
  });
}
