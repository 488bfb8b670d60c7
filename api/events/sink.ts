import { once } from 'node:events';
import { PassThrough, type Readable } from 'node:stream';

/** Bytes that may wait for a client. A client that reads too slowly for its events is disconnected. */
const MAX_WAITING_BYTES = 256 * 1024;
/** Bytes that may wait on each side of the stream while earlier events are read, which can wait too. */
const PAUSE_BYTES = 16 * 1024;

export interface Sink {
  readonly stream: Readable;
  /** Sends text. Calls `onOverflow` instead when too much waits already. */
  write(text: string): void;
  /** Resolves when little waits. */
  drained(signal: AbortSignal): Promise<void>;
  end(): void;
}

/**
 * The body of a response without an end, with a limit on the bytes that wait in memory.
 * @param onOverflow is called once when too much waits
 * @param onWrite is called for each text that is sent
 */
export function createSink(onOverflow: () => void, onWrite: () => void): Sink {
  const stream = new PassThrough({ highWaterMark: PAUSE_BYTES });
  return {
    stream,
    write(text) {
      if (!stream.writable) return;
      stream.write(text);
      onWrite();
      if (stream.writableLength + stream.readableLength <= MAX_WAITING_BYTES) return;
      stream.destroy();
      onOverflow();
    },
    async drained(signal) {
      // The reason for which the wait ends early is known to who has aborted it.
      if (stream.writableNeedDrain) await once(stream, 'drain', { signal }).catch(() => undefined);
    },
    end: () => void stream.end(),
  };
}
