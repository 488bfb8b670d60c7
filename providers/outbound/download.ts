/** The body of a response, written to a stream as it arrives. */
import { finished } from 'node:stream';
import type { Dispatcher } from 'undici';
import { type OutboundDownload, OutboundError, type OutboundResponse } from '../../domain/outbound.js';
import { cancelled, createInterimLimit, describeFailure, timedOut } from './failure.js';
import { joinValues } from './response.js';

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
): Promise<Omit<OutboundResponse, 'body'>> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted) return reject(cancelled());
    const body = createBlockWriter(to);
    let room = maxBytes;
    let response: Omit<OutboundResponse, 'body'> | undefined;
    let controller: Dispatcher.DispatchController | undefined;
    let ended = false;
    const checkInterim = createInterimLimit();
    const timeLimit = setTimeout(() => stop(timedOut(timeoutMs)), timeoutMs);
    const cancel = () => stop(cancelled());
    signal?.addEventListener('abort', cancel, { once: true });

    const end = () => {
      ended = true;
      clearTimeout(timeLimit);
      signal?.removeEventListener('abort', cancel);
    };
    const succeed = () => {
      if (ended) return;
      end();
      resolve(response!);
    };
    /** Fails, and closes the connection, or does not open one. */
    const stop = (error: unknown) => {
      if (ended) return;
      end();
      reject(describeFailure(error));
      controller?.abort(cancelled());
    };
    finished(to, (error) => (error ? stop(error) : succeed()));

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
      },
      onResponseData(reading, chunk) {
        if (ended) return;
        if (!isSuccess(response)) {
          succeed();
          // The rest is not read.
          return reading.abort(cancelled());
        }
        room -= chunk.length;
        if (room < 0) return stop(new OutboundError('ETOOLARGE', `it is over ${maxBytes} bytes`));
        if (body.write(chunk)) return;
        reading.pause();
        to.once('drain', () => reading.resume());
      },
      // Without a body the connection can be used again.
      onResponseEnd() {
        if (ended) return;
        if (isSuccess(response)) body.end();
        else succeed();
      },
      onResponseError: (_controller, error) => stop(error),
    });
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
