import { stat } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { AI_FEATURES, type SubfeatureName } from '../../domain/ai-jobs/features.js';
import { readFileReference } from '../../domain/ai-jobs/jobs.js';
import { asProviderError, type InputFile, type ValidatedInput } from '../../domain/ai-jobs/provider.js';
import { ProviderError } from '../../domain/errors.js';
import type { FileStore } from '../../domain/file-store.js';
import { BlockedAddressError, type OutboundClient, type OutboundError } from '../../domain/outbound.js';
import type { AiJobRecord } from '../../storage/ai-jobs/job-record.js';
import type { Uploads } from '../../storage/ai-jobs/uploads.js';
import type { CheckpointStore } from '../../storage/checkpoints.js';
import type { Scratch } from '../../storage/scratch.js';
import { download, isSuccess, isTransient } from '../download.js';
import { type DescribeFile, detectLocalFile, sha256OfFile, type TextExtractor } from '../local-file.js';

export interface JobInputDependencies {
  uploads: Pick<Uploads, 'getById'>;
  files: Pick<FileStore, 'copyTo'>;
  outbound: Pick<OutboundClient, 'download'>;
  checkpoints: Pick<CheckpointStore, 'of'>;
  extractor: TextExtractor;
  describeFile: DescribeFile;
  scratch: Pick<Scratch, 'use'>;
  /** Limit for a file that is fetched from a URL. */
  maxFileBytes: number;
  fetchTimeoutMs: number;
}

export interface PreparedInput {
  input: ValidatedInput;
  /** Identifies the file's content. The same URL may serve another content at the next attempt. */
  fingerprint: string;
}

/**
 * Prepares a job's input for its provider: the file on the local disk, or the file's text. The file is removed after the work.
 * @throws ProviderError when the file cannot be fetched or read
 */
export async function withInput<T>(
  deps: JobInputDependencies,
  job: AiJobRecord,
  signal: AbortSignal,
  work: (prepared: PreparedInput) => Promise<T>,
): Promise<T> {
  const feature = AI_FEATURES[`${job.feature}/${job.subfeature}` as SubfeatureName];
  const { file: reference, ...input } = feature.input.parse(JSON.parse(job.input)) as { file?: string };
  if (reference === undefined) return work({ input: input as ValidatedInput, fingerprint: 'text' });
  return deps.scratch.use(async (folder) => {
    const file = await fetchFile(deps, job.org, reference, folder, signal);
    const fingerprint = (await sha256OfFile(file.path)).slice(0, 16);
    if (feature.takes === 'file') return work({ input: { ...input, file } as ValidatedInput, fingerprint });
    const text = await readText(deps, job, file, fingerprint, signal);
    return work({ input: { ...input, text } as ValidatedInput, fingerprint });
  });
}

async function readText(
  { extractor, checkpoints }: JobInputDependencies,
  { _id: job, org }: Pick<AiJobRecord, '_id' | 'org'>,
  { path, kind }: InputFile,
  fingerprint: string,
  signal: AbortSignal,
): Promise<string> {
  if (kind === 'audio' || kind === 'unknown') {
    throw new ProviderError('No text can be read from a file of this kind.', false);
  }
  const { sections } = await extractor
    .extract({ path, kind, org }, signal, checkpoints.of(org, job, fingerprint))
    .catch(throwProviderError);
  return sections.map((section) => section.text).join('\n\n');
}

function throwProviderError(error: unknown): never {
  throw asProviderError(error);
}

async function fetchFile(
  deps: JobInputDependencies,
  org: string,
  reference: string,
  folder: string,
  signal: AbortSignal,
): Promise<InputFile> {
  const path = join(folder, 'file');
  const source = readFileReference(reference);
  const filename =
    'url' in source
      ? await downloadFile(deps, source.url, path, signal)
      : await copyUpload(deps, org, source.file_id, path);
  const { size } = await stat(path);
  const described = await detectLocalFile(deps.describeFile, path, filename).catch(throwProviderError);
  return { path, filename, size, ...described };
}

/** @returns the file's name */
async function copyUpload(
  { uploads, files }: JobInputDependencies,
  org: string,
  fileId: string,
  path: string,
): Promise<string> {
  const upload = await uploads.getById(org, fileId);
  if (!upload) throw new ProviderError('The file has expired.', false);
  await files.copyTo(fileId, path);
  return upload.filename;
}

/** @returns the file's name, from its URL */
async function downloadFile(
  { outbound, maxFileBytes, fetchTimeoutMs }: JobInputDependencies,
  url: string,
  path: string,
  signal: AbortSignal,
): Promise<string> {
  const request = { url, path, timeoutMs: fetchTimeoutMs, maxBytes: maxFileBytes, signal };
  const { status } = await download(outbound, request, describeDownloadError);
  if (!isSuccess(status)) {
    const message = `The file could not be fetched: its server responded with ${status}.`;
    throw new ProviderError(message, isTransient(status));
  }
  return nameIn(url);
}

function describeDownloadError(error: BlockedAddressError | OutboundError): ProviderError {
  if (error instanceof BlockedAddressError) return new ProviderError('The file is at a blocked address.', false);
  return new ProviderError(`The file could not be fetched: ${error.message}.`, error.code !== 'ETOOLARGE');
}

function nameIn(url: string): string {
  const name = basename(new URL(url).pathname);
  try {
    return decodeURIComponent(name) || 'file';
  } catch {
    return name; // Not percent-encoded.
  }
}
