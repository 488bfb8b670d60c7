import type { Readable } from 'node:stream';
import type { BusboyInstance } from '@fastify/busboy';
import { ServiceError } from '../domain/errors.js';
import { GrowingBuffer } from '../domain/growing-buffer.js';
import { nearestName } from '../domain/similar-names.js';

/** The text fields that a form may have, each once: `short` ones such as names, `long` ones such as JSON text. */
export type KnownFields = ReadonlyMap<string, 'short' | 'long'>;

/** The text fields of a form, in UTF-8. Bytes, because decoding a long text at once would hold up the process. */
export type FormFields = ReadonlyMap<string, Buffer>;

export const MAX_SHORT_FIELD_BYTES = 64 * 1024;
/** Characters of a field's name in a message. */
const MAX_NAMED = 200;

/** @throws ServiceError VALIDATION_ERROR that names the first field that is not known, and the known name nearest to it */
export function rejectUnknownFields(fields: FormFields, known: KnownFields): void {
  for (const field of fields.keys()) {
    if (known.has(field)) continue;
    const meant = nearestName(field, [...known.keys()]);
    const question = meant === undefined ? '' : `; did you mean "${meant}"?`;
    throw new ServiceError('VALIDATION_ERROR', `${field.slice(0, MAX_NAMED)}: is not known${question}`);
  }
}

/**
 * Collects the text fields of a form while it arrives.
 * @param maxBytes of all of them together
 * @param hold gets the bytes so far, and throws when there is no memory for them
 * @param failed the form has failed: nothing more is kept
 */
export function collectFields(
  form: BusboyInstance,
  known: KnownFields,
  maxBytes: number,
  hold: (bytes: number) => void,
  failed: AbortSignal,
  fail: (error: unknown) => void,
) {
  const short = new Map<string, Buffer>();
  const long = new Map<string, GrowingBuffer>();
  let total = 0;
  const count = (bytes: number) => {
    total += bytes;
    if (total > maxBytes) {
      fail(new ServiceError('PAYLOAD_TOO_LARGE', `The text fields together must not exceed ${maxBytes} bytes.`));
    }
    try {
      if (!failed.aborted) hold(total);
    } catch (error) {
      fail(error);
    }
  };
  const invalid = (message: string) => fail(new ServiceError('VALIDATION_ERROR', message));

  form.on('field', (name, value, _nameTruncated, truncated) => {
    const bytes = Buffer.from(value);
    count(bytes.length);
    if (truncated && known.has(name)) invalid(`${name}: must not exceed ${MAX_SHORT_FIELD_BYTES} bytes`);
    else if (known.has(name) && short.has(name)) invalid(`${name}: must be sent only once`);
    else short.set(name, bytes);
  });

  return {
    /** Takes a long field, which arrives as a stream. */
    receive(name: string, stream: Readable): void {
      if (long.has(name)) invalid(`${name}: must be sent only once`);
      if (failed.aborted) return void stream.resume();
      const value = new GrowingBuffer();
      long.set(name, value);
      stream.on('data', (piece: Buffer) => {
        count(piece.length);
        if (!failed.aborted) value.append(piece);
      });
    },
    /** All fields, after the end of the form. */
    fields: (): FormFields => new Map([...short, ...[...long].map(([name, value]) => [name, value.bytes] as const)]),
  };
}
