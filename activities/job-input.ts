import { createReadStream, createWriteStream } from 'node:fs';
import { open, stat } from 'node:fs/promises';
import { basename, join } from 'node:path';
import type { Readable } from 'node:stream';
import type { SubfeatureName } from '../domain/ai-features.js';
import { AI_FEATURES } from '../domain/ai-features.js';
import { readFileReference } from '../domain/ai-jobs.js';
import { type InputFile, ProviderError, type ValidatedInput } from '../domain/ai-provider.js';
import type { Extraction, FileKind } from '../domain/extraction.js';
import { BlockedAddressError, type OutboundClient, OutboundError } from '../domain/outbound.js';
import type { Files } from '../storage/files.js';
import type { AiJobRecord } from '../storage/records.js';
import type { Uploads } from '../storage/uploads.js';

export interface JobInputDependencies {
  uploads: Uploads;
  files: Files;
  outbound: OutboundClient;
  extractor: { extract(source: { path: string; kind: FileKind }, signal?: AbortSignal): Promise<Extraction> };
  describeFile(
    head: Buffer,
    options: { filename?: string; openStream?: () => Readable },
  ): Promise<Pick<InputFile, 'kind' | 'mime_type'>>;
  /** Of a file that is fetched from an address. */
  maxFileBytes: number;
  fetchTimeoutMs: number;
}

const HEAD_BYTES = 64 * 1024;

/**
 * A job's input as its provider takes it: the file on the local disk, or its text.
 * @param folder takes the file; the caller removes it
 * @throws ProviderError when the file cannot be had, ExtractionError when it cannot be read
 */
export async function prepareInput(
  deps: JobInputDependencies,
  job: AiJobRecord,
  folder: string,
  signal: AbortSignal,
): Promise<ValidatedInput> {
  const feature = AI_FEATURES[`${job.feature}/${job.subfeature}` as SubfeatureName];
  const { file, ...input } = feature.input.parse(JSON.parse(job.input)) as { file?: string };
  if (file === undefined) return input as ValidatedInput;
  const local = await obtain(deps, job.org, file, folder, signal);
  if (feature.takes === 'file') return { ...input, file: local } as ValidatedInput;
  if (local.kind === 'audio' || local.kind === 'unknown') {
    throw new ProviderError('No text can be read from a file of this kind.', false);
  }
  const { sections } = await deps.extractor.extract({ path: local.path, kind: local.kind }, signal);
  return { ...input, text: sections.map(({ text }) => text).join('\n\n') } as ValidatedInput;
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
  return { path, filename, size, ...(await deps.describeFile(await headOf(path), { filename, openStream })) };
}

async function copyUpload(
  { uploads, files }: JobInputDependencies,
  org: string,
  fileId: string,
  path: string,
): Promise<string> {
  const upload = await uploads.find(org, fileId);
  if (!upload) throw new ProviderError('The file has expired.', false);
  await files.copyTo(fileId, path);
  return upload.filename;
}

/** @returns the file's name as its address gives it */
async function fetchFile(deps: JobInputDependencies, url: string, path: string, signal: AbortSignal): Promise<string> {
  const limits = { timeoutMs: deps.fetchTimeoutMs, maxBytes: deps.maxFileBytes };
  const { status } = await deps.outbound
    .download({ url, ...limits, signal, to: createWriteStream(path) })
    .catch((error: unknown) => {
      if (signal.aborted) throw signal.reason;
      if (error instanceof BlockedAddressError) throw new ProviderError(`The file: ${error.message}.`, false);
      if (!(error instanceof OutboundError)) throw error;
      throw new ProviderError(`The file could not be fetched: ${error.message}.`, error.code !== 'ETOOLARGE');
    });
  if (status < 200 || status >= 300) {
    const passing = status >= 500 || status === 429;
    throw new ProviderError(`The file could not be fetched: its server answered ${status}.`, passing);
  }
  return decodeURIComponent(basename(new URL(url).pathname)) || 'file';
}

async function headOf(path: string): Promise<Buffer> {
  const file = await open(path);
  try {
    const { buffer, bytesRead } = await file.read(Buffer.alloc(HEAD_BYTES), 0, HEAD_BYTES, 0);
    return buffer.subarray(0, bytesRead);
  } finally {
    await file.close();
  }
}
