import { Readable } from 'node:stream';

/** Bytes that may wait for a client. A client that reads too slowly for its events is disconnected. */
const MAX_WAITING_BYTES = 256 * 1024;
/** Bytes that may wait while earlier events are read, which can wait too. */
const PAUSE_BYTES = 32 * 1024;

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
  let wake = () => {};
  const stream = new Readable({ read: () => wake(), highWaterMark: PAUSE_BYTES });
  let ended = false;
  return {
    stream,
    write(text) {
      if (ended) return;
      stream.push(text);
      onWrite();
      if (stream.readableLength <= MAX_WAITING_BYTES) return;
      ended = true;
      onOverflow();
    },
    async drained(signal) {
      while (stream.readableLength > PAUSE_BYTES && !signal.aborted) {
        await new Promise<void>((resolve) => {
          wake = () => {
            signal.removeEventListener('abort', wake);
            resolve();
          };
          signal.addEventListener('abort', wake, { once: true });
        });
      }
    },
    end() {
      if (!ended) stream.push(null);
      ended = true;
    },
  };
}
