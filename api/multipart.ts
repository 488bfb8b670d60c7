import type { IncomingMessage } from 'node:http';
import type { Readable } from 'node:stream';
import { Busboy, type BusboyInstance } from '@fastify/busboy';
import { ServiceError } from '../domain/errors.js';
import { createSemaphore } from '../domain/semaphore.js';

export interface UploadLimits {
  /** Per request. */
  maxFiles: number;
  maxFileBytes: number;
  /** The whole request. */
  maxRequestBytes: number;
  /** All text fields such as `memories` together. */
  maxFieldBytes: number;
}

export interface UploadedFile<T> {
  field: string;
  filename: string;
  stored: T;
}

const MAX_FIELDS = 50;
/** Files of one request that are stored at a time: a form may hold hundreds of small ones. */
const STORED_AT_ONCE = 8;

/**
 * Reads a multipart request while it arrives. After an error it parses and stores nothing more. The rest of the request is
 * still received, because most clients read a response only after they have sent everything.
 * @param known the text fields that the request may have, each once; other fields have no effect and may be repeated
 * @param store gets each file as a stream, which it must read to the end
 * @param hold gets the bytes of the text fields so far, which stay in memory; what it throws ends the reading
 * @returns the fields, and the results of `store` in the order of the files
 * @throws ServiceError INVALID_PARAMETERS for a malformed or incomplete body, VALIDATION_ERROR for too many files or
 * fields, PAYLOAD_TOO_LARGE for a size over its limit
 */
export async function readMultipart<T>(
  request: IncomingMessage,
  limits: UploadLimits,
  known: ReadonlySet<string>,
  store: (file: Readable, filename: string) => Promise<T>,
  hold: (bytes: number) => void = () => undefined,
): Promise<{ fields: Map<string, string>; files: UploadedFile<T>[] }> {
  const form = openForm(request, limits);
  const fields = new Map<string, string>();
  const files: Promise<UploadedFile<T>>[] = [];
  const unfinished = new Set<Readable>();
  const turns = createSemaphore(STORED_AT_ONCE);
  const failure = new AbortController();
  const { signal: failed } = failure;
  const fail = (error: unknown) => failure.abort(error);
  let fieldBytes = 0;
  const streams: { bytesRead: number }[] = [];

  form.on('field', (name, value, nameTruncated, valueTruncated) => {
    fieldBytes += Buffer.byteLength(value);
    if (nameTruncated || valueTruncated || fieldBytes > limits.maxFieldBytes)
      fail(tooLarge('The text fields together', limits.maxFieldBytes));
    else if (known.has(name) && fields.has(name))
      fail(new ServiceError('VALIDATION_ERROR', `${name}: must be sent only once`));
    else fields.set(name, value);
  });
  form.on('file', (field, stream, filename = '') => {
    // The reader of the stream gets its errors too; without a listener here they would end the process.
    stream.on('error', () => undefined);
    streams.push(stream as typeof stream & { bytesRead: number });
    // Parts of the bytes in which the error was.
    if (failed.aborted) return void stream.resume();
    unfinished.add(stream);
    stream.once('limit', () => fail(tooLarge(`The file "${filename}"`, limits.maxFileBytes)));
    const stored = storeInTurn(stream, filename).then((result) => ({ field, filename, stored: result }));
    stored
      .catch((error) => {
        fail(error);
        stream.resume();
      })
      .finally(() => unfinished.delete(stream));
    files.push(stored);
  });
  form.on('filesLimit', () => fail(tooMany(limits.maxFiles, 'file')));
  form.on('fieldsLimit', () => fail(tooMany(MAX_FIELDS, 'field')));
  form.on('partsLimit', () => fail(tooMany(limits.maxFiles + MAX_FIELDS, 'part')));

  async function storeInTurn(stream: Readable, filename: string): Promise<T> {
    // The files before this one have arrived, so their end does not wait for this one.
    await turns.acquire(failed);
    try {
      return await store(stream, filename);
    } finally {
      turns.release();
    }
  }

  try {
    await pipeInto(form, request, failed, (received) => {
      if (received > limits.maxRequestBytes) throw tooLarge('The request', limits.maxRequestBytes);
      const stored = streams.reduce((sum, { bytesRead }) => sum + bytesRead, 0);
      hold(Math.min(received - stored, limits.maxFieldBytes));
    });
  } catch (error) {
    fail(error);
    for (const stream of unfinished) stream.destroy(error as Error);
  }
  const settled = await Promise.allSettled(files);
  failed.throwIfAborted();
  return { fields, files: settled.flatMap((file) => (file.status === 'fulfilled' ? [file.value] : [])) };
}

/**
 * Resolves at the end of the form.
 * @param failed ends the parsing
 * @param check gets the bytes received so far; what it throws ends the parsing too
 * @throws ServiceError for a request that is incomplete, malformed or too large, or the reason of `failed`
 */
async function pipeInto(
  form: BusboyInstance,
  request: IncomingMessage,
  failed: AbortSignal,
  check: (received: number) => void,
): Promise<void> {
  let received = 0;
  try {
    await new Promise<void>((resolve, reject) => {
      const malformed = () =>
        reject(new ServiceError('INVALID_PARAMETERS', 'The multipart body is malformed or incomplete.'));
      failed.addEventListener('abort', () => reject(failed.reason), { once: true });
      form.once('finish', resolve);
      form.on('error', malformed);
      request.once('error', malformed);
      request.once('close', () => {
        if (!request.complete) malformed();
      });
      request.on('data', (chunk: Buffer) => {
        received += chunk.length;
        try {
          check(received);
        } catch (error) {
          reject(error);
        }
      });
      request.pipe(form);
    });
  } catch (error) {
    request.unpipe(form);
    request.resume();
    throw error;
  }
}

function openForm(request: IncomingMessage, limits: UploadLimits): BusboyInstance {
  const contentType = request.headers['content-type'];
  // Media types are case-insensitive.
  if (!contentType || !/^multipart\/form-data(;|\s|$)/i.test(contentType)) {
    throw new ServiceError('INVALID_PARAMETERS', 'The body must be multipart/form-data.');
  }
  try {
    return new Busboy({
      headers: { ...request.headers, 'content-type': contentType },
      limits: {
        files: limits.maxFiles,
        fileSize: limits.maxFileBytes,
        fieldSize: limits.maxFieldBytes,
        fields: MAX_FIELDS,
        // Some parts are neither.
        parts: limits.maxFiles + MAX_FIELDS,
      },
    });
  } catch {
    throw new ServiceError('INVALID_PARAMETERS', 'The Content-Type of the multipart body has no boundary.');
  }
}

function tooLarge(subject: string, maxBytes: number): ServiceError {
  return new ServiceError('PAYLOAD_TOO_LARGE', `${subject} must not exceed ${maxBytes} bytes.`);
}

function tooMany(max: number, noun: string): ServiceError {
  return new ServiceError('VALIDATION_ERROR', `A request must not exceed ${max} ${noun}${max === 1 ? '' : 's'}.`);
}
