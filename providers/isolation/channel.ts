import { EventEmitter } from 'node:events';
import type { Duplex } from 'node:stream';
import { deserialize, serialize } from 'node:v8';

/** The pipe between a child and its parent, among the child's file descriptors. */
export const CHANNEL_FD = 3;
/** Each message has its length before it. */
const LENGTH_BYTES = 4;

/**
 * Messages over a pipe between two processes. Node's own channel ends the process that reads bytes that are no message, and a
 * child that reads untrusted input may write any.
 * @param maxBytes of a message that arrives
 * @returns `arrivals` emits `message`, or once `broken` for bytes that are no message; then nothing more arrives
 */
export function createChannel<Sent, Received>(pipe: Duplex, maxBytes = Number.POSITIVE_INFINITY) {
  const arrivals = new EventEmitter<{ message: [Received]; broken: [] }>();
  let pieces: Buffer[] = [];
  let size = 0;
  /** Of the message that arrives; null until it is known. */
  let length: number | null = null;

  pipe.on('data', (piece: Buffer) => {
    pieces.push(piece);
    size += piece.length;
    try {
      for (let bytes = takeMessage(); bytes !== null; bytes = takeMessage())
        arrivals.emit('message', deserialize(bytes) as Received);
    } catch {
      pipe.destroy();
      arrivals.emit('broken');
    }
  });

  /** @returns null until a message is complete. @throws Error when it is too long */
  function takeMessage(): Buffer | null {
    if (length === null && size >= LENGTH_BYTES) length = take(LENGTH_BYTES).readUInt32BE();
    if (length !== null && length > maxBytes) throw new Error('The message is too long.');
    if (length === null || size < length) return null;
    const message = take(length);
    length = null;
    return message;
  }

  function take(bytes: number): Buffer {
    const all = pieces.length === 1 ? pieces[0]! : Buffer.concat(pieces);
    pieces = [all.subarray(bytes)];
    size -= bytes;
    return all.subarray(0, bytes);
  }

  return {
    arrivals,
    send(message: Sent): void {
      const bytes = serialize(message);
      const head = Buffer.alloc(LENGTH_BYTES);
      head.writeUInt32BE(bytes.length);
      pipe.cork();
      pipe.write(head);
      pipe.write(bytes);
      pipe.uncork();
    },
  };
}
