/** Reading a response within bounds. */
import { Transform } from 'node:stream';
import { setTimeout as delay } from 'node:timers/promises';
import type { Dispatcher } from 'undici';
import { OutboundError } from '../../domain/outbound.js';

/** How long `readExcerpt` waits for the beginning of a body. */
const EXCERPT_MS = 1_000;

/** Reads at most `limit` bytes. Leaving the loop early destroys the stream and closes the connection. */
export async function readUpTo(body: AsyncIterable<Buffer>, limit: number): Promise<Buffer> {
  const chunks: Buffer[] = [];
  await collectUpTo(body, limit, chunks);
  return Buffer.concat(chunks);
}

/** Reads what arrives within a second. The status is already known, so a body that drips or breaks off is no failure. */
export async function readExcerpt(body: AsyncIterable<Buffer>, limit: number): Promise<Buffer> {
  const chunks: Buffer[] = [];
  const stop = new AbortController();
  const reading = collectUpTo(body, limit, chunks).catch(() => undefined);
  const enough = delay(EXCERPT_MS, undefined, { signal: stop.signal }).catch(() => undefined);
  await Promise.race([reading, enough]);
  stop.abort();
  return Buffer.concat(chunks);
}

async function collectUpTo(body: AsyncIterable<Buffer>, limit: number, chunks: Buffer[]): Promise<void> {
  let room = limit;
  for await (const chunk of body) {
    chunks.push(chunk.subarray(0, room));
    if (chunk.length > room) break;
    room -= chunk.length;
  }
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
  return Object.fromEntries(
    Object.entries(headers).map(([name, value]) => [name, Array.isArray(value) ? value.join(', ') : (value ?? '')]),
  );
}
