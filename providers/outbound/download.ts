/** The body of a response, written to a stream as it arrives. */
import { finished } from 'node:stream';
import type { Dispatcher } from 'undici';
import { GrowingBuffer } from '../../domain/growing-buffer.js';
import { type OutboundDownload, OutboundError } from '../../domain/outbound.js';
import { type ResponseHead, sendRequest } from './send-request.js';

/** Bytes written at a time, or more. A server may send its body in chunks of one byte, each of which would cost a write. */
const BLOCK_BYTES = 64 * 1024;

type Limits = Pick<OutboundDownload, 'timeoutMs' | 'maxBytes' | 'signal' | 'to'>;

/**
 * Sends a request and writes the body of a 2xx response. The body of any other response is not read.
 * @throws BlockedAddressError or OutboundError
 */
export function download(
  dispatcher: Pick<Dispatcher, 'dispatch'>,
  request: Dispatcher.DispatchOptions,
  { timeoutMs, maxBytes, signal, to }: Limits,
): Promise<ResponseHead> {
  return sendRequest(dispatcher, request, { timeoutMs, signal }, ({ succeed, stop, close }) => {
    let block = new GrowingBuffer(BLOCK_BYTES);
    let room = maxBytes;
    let response: ResponseHead | undefined;
    finished(to, (error) => (error ? stop(error) : succeed(response!)));
    return {
      onHead(head) {
        response = head;
      },
      onData(chunk, controller) {
        if (!isSuccess(response)) {
          succeed(response!);
          return close();
        }
        room -= chunk.length;
        if (room < 0) return stop(new OutboundError('ETOOLARGE', `it is over ${maxBytes} bytes`));
        block.append(chunk);
        if (block.bytes.length < BLOCK_BYTES) return;
        const isReady = to.write(block.bytes);
        block = new GrowingBuffer(BLOCK_BYTES);
        if (isReady) return;
        controller.pause();
        to.once('drain', () => controller.resume());
      },
      // Without a body the connection can be used again.
      onEnd() {
        if (isSuccess(response)) to.end(block.bytes);
        else succeed(response!);
      },
      onError: stop,
    };
  });
}

function isSuccess(response: { status: number } | undefined): boolean {
  return response !== undefined && response.status >= 200 && response.status < 300;
}
