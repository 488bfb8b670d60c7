import type { Response } from 'undici';
import { GrowingBuffer } from '../../domain/growing-buffer.js';

/** @returns the body of a response as text; undefined, with the connection closed, when it is longer than `maxBytes` */
export async function readBody(response: Response, maxBytes: number): Promise<string | undefined> {
  const body = new GrowingBuffer();
  // Leaving the loop closes the connection.
  for await (const chunk of response.body ?? []) {
    if (body.bytes.length + chunk.length > maxBytes) return undefined;
    body.append(Buffer.from(chunk.buffer, chunk.byteOffset, chunk.length));
  }
  return body.bytes.toString('utf8');
}
