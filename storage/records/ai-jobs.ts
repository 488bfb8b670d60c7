import type { Binary } from 'mongodb';
import type { JobStatus } from '../../domain/ai-jobs.js';

export interface AiJobRecord {
  /** UUID. */
  _id: string;
  org: string;
  feature: string;
  subfeature: string;
  provider: string;
  model: string | null;
  status: JobStatus;
  /** The input as JSON, because its names may be any. */
  input: string;
  /** The upload that the input names. */
  file_id: string | null;
  webhook_receiver: string | null;
  /** As JSON, exactly as they were sent. */
  user_parameters: string | null;
  show_original_response: boolean;
  /** Milliseconds from its start until it is given up. */
  time_limit_ms: number;
  /** The key that signs its callback, the current one when the job was made. */
  signing_key: string | null;
  error_message: string | null;
  cancel_requested: boolean;
  /** Runs that were begun and have not ended in an orderly way: more than a few, and it is what ends its workers. */
  runs: number;
  provider_failures: number;
  /** From when on the sweep may wonder whether its workflow exists. */
  check_at: Date;
  created_at: Date;
  started_at: Date | null;
  finished_at: Date | null;
  /** When MongoDB removes the record; null as long as it is under way. */
  expires_at: Date | null;
}

/** What a provider has made of a job: canonical JSON, because its names may be any, in gzip. */
export interface AiJobResultRecord {
  /** The job. */
  _id: string;
  output: Binary;
  original: Binary | null;
  /** Set with the job's, when it ends. */
  expires_at: Date | null;
}
