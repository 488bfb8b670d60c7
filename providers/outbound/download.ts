/** The body of a response, written to a stream as it arrives. */
import { finished } from 'node:stream';
import type { Dispatcher } from 'undici';
import { type OutboundDownload, OutboundError } from '../../domain/outbound.js';
import { type ResponseHead, sendRequest } from './send-request.js';

/** Bytes written at a time. A server may send its body in chunks of one byte, each of which would cost a write. */
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
    const body = createBlockWriter(to);
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
        if (body.write(chunk)) return;
        controller.pause();
        to.once('drain', () => controller.resume());
      },
      // Without a body the connection can be used again.
      onEnd() {
        if (isSuccess(response)) body.end();
        else succeed(response!);
      },
      onError: stop,
    };
  });
}

function isSuccess(response: { status: number } | undefined): boolean {
  return response !== undefined && response.status >= 200 && response.status < 300;
}

/** Writes pieces of any size in blocks. */
function createBlockWriter(to: OutboundDownload['to']) {
  let block = Buffer.allocUnsafeSlow(BLOCK_BYTES);
  let length = 0;

  function flush(): boolean {
    const full = block.subarray(0, length);
    block = Buffer.allocUnsafeSlow(BLOCK_BYTES);
    length = 0;
    return to.write(full);
  }

  return {
    /** @returns false when the stream asks to wait for `drain` */
    write(piece: Buffer): boolean {
      let ready = true;
      for (let at = 0; at < piece.length; ) {
        const copied = piece.copy(block, length, at);
        at += copied;
        length += copied;
        if (length === BLOCK_BYTES) ready = flush();
      }
      return ready;
    },
    end(): void {
      to.end(block.subarray(0, length));
    },
  };
}
