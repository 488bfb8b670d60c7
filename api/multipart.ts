import { once } from 'node:events';
import type { IncomingMessage } from 'node:http';
import type { Readable } from 'node:stream';
import { Busboy, type BusboyInstance } from '@fastify/busboy';
import { ServiceError } from '../domain/errors.js';
import { createSemaphore } from '../domain/semaphore.js';
import { piecesOf, rejectCompressedBody } from './body-pieces.js';
import { collectFields, type FormFields, type KnownFields, MAX_SHORT_FIELD_BYTES } from './form-fields.js';

export interface UploadLimits {
  /** Files of one request. */
  maxFiles: number;
  /** For whoever stores the files. */
  maxFileBytes: number;
  /** Bytes of the whole request. */
  maxRequestBytes: number;
  /** Bytes of all text fields, such as `memories`, together. */
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
 * @param known other fields have no effect, may be repeated, and are cut off after 64 KiB
 * @param store gets each file as a stream, which it must read to the end
 * @param hold gets the bytes of the text fields so far, which stay in memory; an error that it throws ends the reading
 * @returns the fields, and the results of `store` in the order of the files
 * @throws ServiceError INVALID_PARAMETERS for a malformed or incomplete body, VALIDATION_ERROR for too many files or
 * fields and for a short field that is too long, PAYLOAD_TOO_LARGE for a size over its limit
 */
export async function readMultipart<T>(
  request: IncomingMessage,
  limits: UploadLimits,
  known: KnownFields,
  store: (file: Readable, filename: string) => Promise<T>,
  hold: (bytes: number) => void = () => undefined,
): Promise<{ fields: FormFields; files: UploadedFile<T>[] }> {
  const form = openForm(request, limits, known);
  const files: Promise<UploadedFile<T>>[] = [];
  const unfinished = new Set<Readable>();
  const turns = createSemaphore({ places: STORED_AT_ONCE });
  const failure = new AbortController();
  const { signal: failed } = failure;
  const fail = (error: unknown) => failure.abort(error);

  // Busboy takes a part without a name too.
  const requireName = (field: string | undefined) => {
    if (field === undefined) fail(malformed());
  };
  form.on('field', requireName);
  const texts = collectFields(form, known, limits.maxFieldBytes, hold, failed, fail);
  form.on('file', (field, stream, filename?: string) => {
    // The reader of the stream gets its errors too; without a listener here they would end the process.
    stream.on('error', () => undefined);
    requireName(field);
    if (filename === undefined && known.get(field) === 'long') return texts.receive(field, stream);
    receiveFile(field, stream, filename ?? '');
  });
  form.on('error', () => fail(malformed()));
  form.on('fieldsLimit', () => fail(tooMany(MAX_FIELDS, 'field')));
  form.on('partsLimit', () => fail(tooMany(limits.maxFiles + MAX_FIELDS, 'part')));

  function receiveFile(field: string, stream: Readable, filename: string): void {
    if (files.length === limits.maxFiles) fail(tooMany(limits.maxFiles, 'file'));
    // The parts that arrived in the same bytes as the error.
    if (failed.aborted) return void stream.resume();
    unfinished.add(stream);
    const stored = storeInTurn(stream, filename).then((result) => ({ field, filename, stored: result }));
    stored
      .catch((error) => {
        fail(error);
        stream.resume();
      })
      .finally(() => unfinished.delete(stream));
    files.push(stored);
  }

  async function storeInTurn(stream: Readable, filename: string): Promise<T> {
    // The files before this one have arrived, so their end does not wait for this one.
    const leave = await turns.acquire(failed);
    return store(stream, filename).finally(leave);
  }

  try {
    await pipeInto(form, request, limits.maxRequestBytes, failed);
  } catch (error) {
    fail(error);
    for (const stream of unfinished) stream.destroy(error as Error);
  }
  const settled = await Promise.allSettled(files);
  failed.throwIfAborted();
  return {
    fields: texts.fields(),
    files: settled.flatMap((file) => (file.status === 'fulfilled' ? [file.value] : [])),
  };
}

/**
 * Resolves at the end of the form.
 * @param failed ends the parsing
 * @throws ServiceError for a request that is incomplete or too large, or the reason of `failed`
 */
async function pipeInto(
  form: BusboyInstance,
  request: IncomingMessage,
  maxBytes: number,
  failed: AbortSignal,
): Promise<void> {
  const finished = once(form, 'finish', { signal: failed });
  finished.catch(() => undefined);
  let received = 0;
  try {
    for await (const piece of piecesOf(request, failed)) {
      received += piece.length;
      if (received > maxBytes) throw tooLarge('The request', maxBytes);
      if (!form.write(piece)) await once(form, 'drain', { signal: failed });
    }
    form.end();
    await finished;
  } catch (error) {
    failed.throwIfAborted();
    throw error instanceof ServiceError ? error : malformed();
  }
}

function openForm(request: IncomingMessage, limits: UploadLimits, known: KnownFields): BusboyInstance {
  rejectCompressedBody(request);
  const contentType = request.headers['content-type'];
  // Media types are case-insensitive.
  if (!contentType || !/^multipart\/form-data(;|\s|$)/i.test(contentType)) {
    throw new ServiceError('INVALID_PARAMETERS', 'The body must be multipart/form-data.');
  }
  try {
    return new Busboy({
      headers: { ...request.headers, 'content-type': contentType },
      // Long text fields arrive as streams, as files do: Busboy decodes other fields at once.
      isPartAFile: (field, type, filename) =>
        filename !== undefined || type === 'application/octet-stream' || known.get(field ?? '') === 'long',
      limits: {
        fieldSize: Math.min(MAX_SHORT_FIELD_BYTES, limits.maxFieldBytes),
        fields: MAX_FIELDS,
        // Some parts are neither a file nor a field.
        parts: limits.maxFiles + MAX_FIELDS,
      },
    });
  } catch {
    throw new ServiceError('INVALID_PARAMETERS', 'The Content-Type of the multipart body has no boundary.');
  }
}

function malformed(): ServiceError {
  return new ServiceError('INVALID_PARAMETERS', 'The multipart body is malformed or incomplete.');
}

export function tooLarge(subject: string, maxBytes: number): ServiceError {
  return new ServiceError('PAYLOAD_TOO_LARGE', `${subject} must not exceed ${maxBytes} bytes.`);
}

function tooMany(max: number, noun: string): ServiceError {
  return new ServiceError('VALIDATION_ERROR', `A request must not exceed ${max} ${noun}${max === 1 ? '' : 's'}.`);
}
