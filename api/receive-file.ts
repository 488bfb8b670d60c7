import { createHash } from 'node:crypto';
import { type Readable, Transform } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { ServiceError } from '../domain/errors.js';
import { type DetectKind, ExtractionError, type FileKind, HEAD_BYTES } from '../domain/extraction.js';
import type { FileOwner, FileStore } from '../domain/file-store.js';
import { newFileId } from '../domain/ids.js';
import type { IdempotencyKeys } from '../storage/idempotency-keys.js';
import type { FormFields, KnownFields } from './form-fields.js';
import { respondOnce } from './idempotency.js';
import { readMultipart, tooLarge, type UploadedFile, type UploadLimits } from './multipart.js';
import type { RequestContext } from './request-context.js';

/** An uploaded file as it was stored. */
export interface FileReceipt<Kind = FileKind> {
  file_id: string;
  /** Bytes. */
  size: number;
  /** SHA-256 of the content, hex. */
  sha256: string;
  detected: { kind: Kind; mime_type: string } | null;
  /** Why the file is rejected; `detected` is null then. */
  error?: ExtractionError;
}

/** A form that has arrived, with its files in the file store. */
export interface ReceivedForm<Kind = FileKind> {
  fields: FormFields;
  files: UploadedFile<FileReceipt<Kind>>[];
}

export interface FormDependencies<Kind = FileKind> {
  files: FileStore;
  detectKind: DetectKind<Kind>;
  limits: UploadLimits;
  idempotencyKeys: IdempotencyKeys;
}

/**
 * Receives a form, works on it once per `Idempotency-Key`, and finally removes the files that no record owns, and claims the
 * others.
 * @param batch id of the files of this request
 * @param work returns the ids of the files that its records own. With a ServiceError it has stored none; after any other error its
 * commit may have succeeded, and the reconciler decides
 */
export async function receiveForm<Kind>(
  ctx: RequestContext,
  deps: FormDependencies<Kind>,
  known: KnownFields,
  batch: string,
  work: (form: ReceivedForm<Kind>) => Promise<readonly string[]>,
): Promise<void> {
  const owner = { org: ctx.state.principal.org, batch };
  const ids: string[] = [];
  let owned = new Set() as ReadonlySet<string> | 'unknown';
  const store = async (stream: Readable, filename: string) => {
    const receipt = await receiveFile(deps, stream, filename, owner);
    ids.push(receipt.file_id);
    return receipt;
  };
  try {
    const form = await readMultipart(ctx.req, deps.limits, known, store, ctx.state.holdBody);
    const once = async () => {
      owned = 'unknown';
      try {
        owned = new Set(await work(form));
      } catch (error) {
        if (error instanceof ServiceError) owned = new Set();
        throw error;
      }
    };
    await respondOnce(ctx, deps.idempotencyKeys, () => contentOf(form), once);
  } finally {
    // The outcome of the request is known, whatever fails here: the reconciler repeats it for files that are not claimed.
    if (owned !== 'unknown') await settleFiles(deps.files, owner, ids, owned).catch(() => undefined);
  }
}

/** Removes first, because a claim is for all files of the request, and nobody looks for claimed files again. */
async function settleFiles(
  files: FileStore,
  owner: FileOwner,
  ids: readonly string[],
  owned: ReadonlySet<string>,
): Promise<void> {
  await Promise.all(ids.filter((id) => !owned.has(id)).map((id) => files.remove(id)));
  if (owned.size > 0) await files.claim(owner);
}

/** Streams a file into the file store and detects what it is. @throws ServiceError PAYLOAD_TOO_LARGE */
async function receiveFile<Kind>(
  { files, detectKind, limits: { maxFileBytes } }: Omit<FormDependencies<Kind>, 'idempotencyKeys'>,
  stream: Readable,
  filename: string,
  owner: { org: string; batch: string },
): Promise<FileReceipt<Kind>> {
  const file_id = newFileId();
  const head: Buffer[] = [];
  const hash = createHash('sha256');
  let size = 0;
  const measure = new Transform({
    transform(chunk: Buffer, _encoding, done) {
      if (size < HEAD_BYTES) head.push(chunk.subarray(0, HEAD_BYTES - size));
      size += chunk.length;
      hash.update(chunk);
      if (size > maxFileBytes) done(tooLarge(`The file "${filename}"`, maxFileBytes));
      else done(null, chunk);
    },
  });
  await pipeline(stream, measure, (content) => files.write(file_id, owner, content));
  const sha256 = hash.digest('hex');
  try {
    const detected = await detectKind(Buffer.concat(head), { filename, openStream: () => files.read(file_id) });
    return { file_id, size, sha256, detected };
  } catch (error) {
    if (error instanceof ExtractionError) return { file_id, size, sha256, detected: null, error };
    await files.remove(file_id);
    throw error;
  }
}

const HASHED_BYTES = 1024 * 1024;

/**
 * The content of a form, to compare requests: clients choose a new boundary for each request, so the bytes of two equal
 * requests differ.
 */
function* contentOf({ fields, files }: ReceivedForm<unknown>): Generator<string | Uint8Array> {
  for (const [name, value] of [...fields].sort(([a], [b]) => (a < b ? -1 : 1))) {
    yield JSON.stringify([name, value.length]);
    for (let at = 0; at < value.length; at += HASHED_BYTES) yield value.subarray(at, at + HASHED_BYTES);
  }
  yield JSON.stringify(files.map(({ field, filename, stored }) => [field, filename, stored.sha256]));
}
