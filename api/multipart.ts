import type { IncomingMessage } from 'node:http';
import type { Readable } from 'node:stream';
import { Busboy, type BusboyInstance } from '@fastify/busboy';
import { ServiceError } from '../domain/errors.js';

export interface UploadLimits {
  /** Files a request. */
  maxFiles: number;
  maxFileBytes: number;
  /** All of a request together. */
  maxRequestBytes: number;
  /** All stringified fields such as `memories` together. */
  maxFieldBytes: number;
}

export interface UploadedFile<T> {
  field: string;
  filename: string;
  stored: T;
}

const MAX_FIELDS = 50;

/**
 * Reads a multipart request as it comes in.
 * @param store takes each file as a stream, one after the other, and must read it to its end
 * @returns the fields and, in the order sent, what `store` made of the files
 * @throws ServiceError INVALID_PARAMETERS for what is not well-formed multipart, VALIDATION_ERROR for too many files,
 * PAYLOAD_TOO_LARGE over a size; the request is read to its end all the same, so that the client gets the answer
 */
export async function readMultipart<T>(
  request: IncomingMessage,
  limits: UploadLimits,
  store: (file: Readable, filename: string) => Promise<T>,
): Promise<{ fields: Map<string, string>; files: UploadedFile<T>[] }> {
  const form = openForm(request, limits);
  const fields = new Map<string, string>();
  const files: Promise<UploadedFile<T>>[] = [];
  const underWay = new Set<Readable>();
  const problems: unknown[] = [];
  let fieldBytes = 0;

  form.on('field', (name, value, nameCut, valueCut) => {
    fieldBytes += Buffer.byteLength(value);
    if (nameCut || valueCut || fieldBytes > limits.maxFieldBytes)
      problems.push(tooLarge('The fields together', limits.maxFieldBytes));
    else if (fields.has(name)) problems.push(new ServiceError('VALIDATION_ERROR', `${name}: is given twice`));
    else fields.set(name, value);
  });
  form.on('file', (field, stream, filename) => {
    // A part that is cut off is an error of its stream too; whoever reads it notices, and nobody else need to.
    stream.on('error', () => undefined);
    // Read on after a problem, but keep nothing: the client is told once it has sent everything.
    if (problems.length > 0) {
      stream.resume();
      return;
    }
    underWay.add(stream);
    stream.once('limit', () => problems.push(tooLarge(`The file "${filename}"`, limits.maxFileBytes)));
    const stored = store(stream, filename ?? '').then((result) => ({
      field,
      filename: filename ?? '',
      stored: result,
    }));
    stored
      .catch((error) => {
        problems.push(error);
        stream.resume();
      })
      .finally(() => underWay.delete(stream));
    files.push(stored);
  });
  form.on('filesLimit', () =>
    problems.push(tooMany(`at most ${limits.maxFiles} ${limits.maxFiles === 1 ? 'file' : 'files'} a request`)),
  );
  form.on('fieldsLimit', () => problems.push(tooMany(`at most ${MAX_FIELDS} fields a request`)));

  try {
    await pour(request, form, limits.maxRequestBytes);
  } catch (error) {
    problems.push(error);
    for (const stream of underWay) stream.destroy(error as Error);
  }
  const settled = await Promise.allSettled(files);
  if (problems.length > 0) throw problems[0];
  return { fields, files: settled.flatMap((one) => (one.status === 'fulfilled' ? [one.value] : [])) };
}

/** Lets the request run into the form until it has ended. @throws ServiceError when it is cut off, malformed or too large */
async function pour(request: IncomingMessage, form: BusboyInstance, maxBytes: number): Promise<void> {
  let received = 0;
  try {
    await new Promise<void>((resolve, reject) => {
      const malformed = () =>
        reject(new ServiceError('INVALID_PARAMETERS', 'The multipart body is malformed or did not arrive whole.'));
      form.once('finish', resolve);
      form.on('error', malformed);
      request.once('error', malformed);
      request.once('close', () => {
        if (!request.complete) malformed();
      });
      request.on('data', (piece: Buffer) => {
        received += piece.length;
        if (received > maxBytes) reject(tooLarge('The request', maxBytes));
      });
      request.pipe(form);
    });
  } catch (error) {
    request.unpipe(form);
    request.resume();
    throw error;
  }
}

function tooMany(message: string): ServiceError {
  return new ServiceError('VALIDATION_ERROR', message);
}

function openForm(request: IncomingMessage, limits: UploadLimits): BusboyInstance {
  const contentType = request.headers['content-type'];
  // Media types know no case.
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
      },
    });
  } catch {
    throw new ServiceError('INVALID_PARAMETERS', 'The multipart body names no boundary.');
  }
}

function tooLarge(what: string, bytes: number): ServiceError {
  return new ServiceError('PAYLOAD_TOO_LARGE', `${what} is over ${bytes} bytes.`);
}
