import { createReadStream, createWriteStream } from 'node:fs';
import { stat } from 'node:fs/promises';
import { basename, join } from 'node:path';
import type { Readable } from 'node:stream';
import { AI_FEATURES, type SubfeatureName } from '../../domain/ai-jobs/features.js';
import { readFileReference } from '../../domain/ai-jobs/jobs.js';
import type { InputFile, ValidatedInput } from '../../domain/ai-jobs/provider.js';
import type { Checkpoints } from '../../domain/checkpoints.js';
import { ProviderError } from '../../domain/errors.js';
import type { Extraction, FileKind } from '../../domain/extraction.js';
import type { FileStore } from '../../domain/file-store.js';
import { BlockedAddressError, type OutboundClient, OutboundError } from '../../domain/outbound.js';
import { asProviderError } from '../../providers/ai-jobs/file-errors.js';
import type { AiJobRecord } from '../../storage/ai-jobs/jobs.js';
import type { Uploads } from '../../storage/ai-jobs/uploads.js';
import { hashOf, headOf } from '../local-file.js';

export interface JobInputDependencies {
  uploads: Uploads;
  files: FileStore;
  outbound: OutboundClient;
  /** Store the scanned pages that were read. */
  checkpoints: { of(job: string, content: string): Checkpoints };
  extractor: {
    extract(
      source: { path: string; kind: FileKind },
      signal?: AbortSignal,
      checkpoints?: Checkpoints,
    ): Promise<Extraction>;
  };
  describeFile(
    head: Buffer,
    options: { filename?: string; openStream?: () => Readable },
  ): Promise<Pick<InputFile, 'kind' | 'mime_type'>>;
  /** Of a file that is fetched from an address. */
  maxFileBytes: number;
  fetchTimeoutMs: number;
}

export interface PreparedInput {
  input: ValidatedInput;
  /** Tells the file's content from another that its address may give the next time. */
  fingerprint: string;
}

/**
 * A job's input as its provider takes it: the file on the local disk, or its text.
 * @param folder takes the file; the caller removes it
 * @throws ProviderError when the file cannot be had or read
 */
export async function prepareInput(
  deps: JobInputDependencies,
  job: AiJobRecord,
  folder: string,
  signal: AbortSignal,
): Promise<PreparedInput> {
  const feature = AI_FEATURES[`${job.feature}/${job.subfeature}` as SubfeatureName];
  const { file, ...input } = feature.input.parse(JSON.parse(job.input)) as { file?: string };
  if (file === undefined) return { input: input as ValidatedInput, fingerprint: 'text' };
  const local = await obtain(deps, job.org, file, folder, signal);
  const fingerprint = (await hashOf(local.path)).slice(0, 16);
  if (feature.takes === 'file') return { input: { ...input, file: local } as ValidatedInput, fingerprint };
  if (local.kind === 'audio' || local.kind === 'unknown') {
    throw new ProviderError('No text can be read from a file of this kind.', false);
  }
  const { sections } = await deps.extractor
    .extract({ path: local.path, kind: local.kind }, signal, deps.checkpoints.of(job._id, fingerprint))
    .catch(refused);
  const text = sections.map((section) => section.text).join('\n\n');
  return { input: { ...input, text } as ValidatedInput, fingerprint };
}

function refused(error: unknown): never {
  throw asProviderError(error);
}

async function obtain(
  deps: JobInputDependencies,
  org: string,
  reference: string,
  folder: string,
  signal: AbortSignal,
): Promise<InputFile> {
  const path = join(folder, 'file');
  const named = readFileReference(reference);
  const filename =
    'url' in named ? await fetchFile(deps, named.url, path, signal) : await copyUpload(deps, org, named.file_id, path);
  const { size } = await stat(path);
  const openStream = () => createReadStream(path);
  return {
    path,
    filename,
    size,
    ...(await deps.describeFile(await headOf(path), { filename, openStream }).catch(refused)),
  };
}

async function copyUpload(
  { uploads, files }: JobInputDependencies,
  org: string,
  fileId: string,
  path: string,
): Promise<string> {
  const upload = await uploads.getById(fileId);
  if (upload?.org !== org) throw new ProviderError('The file has expired.', false);
  await files.copyTo(fileId, path);
  return upload.filename;
}

/** @returns the file's name as its address gives it @throws ProviderError when it cannot be had */
async function fetchFile(deps: JobInputDependencies, url: string, path: string, signal: AbortSignal): Promise<string> {
  const limits = { timeoutMs: deps.fetchTimeoutMs, maxBytes: deps.maxFileBytes };
  const { status } = await deps.outbound
    .download({ url, ...limits, signal, to: createWriteStream(path) })
    .catch((error: unknown) => {
      if (signal.aborted) throw signal.reason;
      if (error instanceof BlockedAddressError) throw new ProviderError('The file is at a blocked address.', false);
      if (!(error instanceof OutboundError)) throw error;
      throw new ProviderError(`The file could not be fetched: ${error.message}.`, error.code !== 'ETOOLARGE');
    });
  if (status < 200 || status >= 300) {
    const passing = status >= 500 || status === 429;
    throw new ProviderError(`The file could not be fetched: its server answered ${status}.`, passing);
  }
  return nameIn(url);
}

function nameIn(url: string): string {
  const name = basename(new URL(url).pathname);
  try {
    return decodeURIComponent(name) || 'file';
  } catch {
    return name; // A stray percent sign.
  }
}
