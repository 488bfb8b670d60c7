/** Reading a response within bounds. */
import { Transform } from 'node:stream';
import type { Dispatcher } from 'undici';
import { OutboundError } from '../../domain/outbound.js';

/** Reads at most `limit` bytes. Leaving the loop early destroys the stream and closes the connection. */
export async function readUpTo(body: AsyncIterable<Buffer>, limit: number): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let room = limit;
  for await (const chunk of body) {
    chunks.push(chunk.subarray(0, room));
    if (chunk.length > room) break;
    room -= chunk.length;
  }
  return Buffer.concat(chunks);
}

/** Passes `maxBytes` through and fails with ETOOLARGE on the first byte after them. */
export function limitedTo(maxBytes: number): Transform {
  let room = maxBytes;
  return new Transform({
    transform(chunk: Buffer, _encoding, done) {
      room -= chunk.length;
      if (room < 0) done(new OutboundError('ETOOLARGE', `it is over ${maxBytes} bytes`));
      else done(null, chunk);
    },
  });
}

/** Headers with one string per name. */
export function joinValues(headers: Dispatcher.ResponseData['headers']): Record<string, string> {
  const joined: Record<string, string> = {};
  for (const name in headers) {
    const value = headers[name];
    joined[name] = Array.isArray(value) ? value.join(', ') : (value ?? '');
  }
  return joined;
}
