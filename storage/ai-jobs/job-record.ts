import { promisify } from 'node:util';
import { gunzip, gzip } from 'node:zlib';
import { Binary } from 'mongodb';
import type { AiJobResult, DescribedJob } from '../../domain/ai-jobs/job-payload.js';
import { newJobId } from '../../domain/ids.js';
import { textBytes } from '../../domain/text-bytes.js';
import type { StoredHeaders } from '../webhooks/static-headers.js';

export interface AiJobRecord extends DescribedJob {
  org: string;
  /** JSON, because MongoDB does not store every field name. */
  input: string;
  /** The upload in the input, if there is one. */
  file_id: string | null;
  webhook_receiver: string | null;
  /** Static headers of the receiver. */
  headers?: StoredHeaders | null;
  /** Bytes of the input, the parameters and the static headers, for the use of an organisation. */
  bytes: number;
  /** Milliseconds from the start until the job fails. */
  time_limit_ms: number;
  /** Whether the job is expected to take well under a second. */
  quick: boolean;
  /** Id of its group, whose workflow runs it. Absent when it has a workflow of its own. */
  group?: string | undefined;
  /** Id of the key that signs the callback: the current key when the job was submitted. */
  signing_key: string | null;
  cancel_requested: boolean;
  /** Runs that started and did not return. When there are more than a few, the job probably kills its workers. */
  runs: number;
  provider_failures: number;
  /** Time after which the reconciler checks the job's workflow. */
  check_at: Date;
  started_at: Date | null;
  /** When MongoDB removes the record; null while the job is in progress. */
  expires_at: Date | null;
}

/** The result of a provider: canonical JSON, compressed with gzip. */
export interface AiJobResultRecord {
  /** The job's id. */
  _id: string;
  org: string;
  output: Binary;
  original: Binary | null;
  /** Bytes of both, for the use of an organisation. */
  bytes: number;
  /** Characters of both, which can be a thousand times the bytes. */
  characters: number;
  /** The same as the job's when it has finished, and later before. */
  expires_at: Date;
}

/** Below MongoDB's limit of 16 MiB for a document. */
const MAX_PACKED_BYTES = 15 * 1024 * 1024;

// Indented JSON consists mostly of spaces and repeated names.
const pack = async (text: string) => new Binary(await promisify(gzip)(text));
const unpack = async (packed: Binary) => (await promisify(gunzip)(packed.value())).toString();

/** A result as it is stored. */
export type PackedResult = Pick<AiJobResultRecord, 'output' | 'original'> & { bytes: number; characters: number };

/** @throws RangeError when the result is too large, even compressed */
export async function packResult({ output, original }: AiJobResult): Promise<PackedResult> {
  const packed = { output: await pack(output), original: original === null ? null : await pack(original) };
  const bytes = packed.output.length() + (packed.original?.length() ?? 0);
  if (bytes > MAX_PACKED_BYTES) throw new RangeError('the result is too large to be stored');
  return { ...packed, bytes, characters: output.length + (original?.length ?? 0) };
}

export async function unpackResult({
  output,
  original,
}: Pick<AiJobResultRecord, 'output' | 'original'>): Promise<AiJobResult> {
  return { output: await unpack(output), original: original && (await unpack(original)) };
}

/** The fields that are the same in all new jobs. */
const QUEUED = {
  status: 'queued',
  error_code: null,
  error_message: null,
  cancel_requested: false,
  runs: 0,
  provider_failures: 0,
  started_at: null,
  finished_at: null,
  expires_at: null,
} as const satisfies Partial<AiJobRecord>;

/** The fields that a submission decides. */
export type JobRequest = Omit<
  AiJobRecord,
  keyof typeof QUEUED | '_id' | 'headers' | 'group' | 'bytes' | 'check_at' | 'created_at'
>;

/** @returns the record of a new job */
export function queuedJob(request: JobRequest, now: Date): AiJobRecord {
  const bytes = textBytes(request.input, request.user_parameters);
  return { ...request, ...QUEUED, _id: newJobId(), bytes, check_at: now, created_at: now };
}
