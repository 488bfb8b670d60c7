import { type Json, parseExact } from '../domain/canonical-json.js';
import type { AiJobRecord, AiJobResultRecord } from './records.js';

/**
 * A job as its client reads it: the payload of the callback (specification, "Callback payload") without `event`; before
 * its end without what only the end brings.
 */
export function describeJob(job: AiJobRecord, result: AiJobResultRecord | null): { [name: string]: Json } {
  const original = job.show_original_response ? (result?.original ?? null) : null;
  return {
    job_id: job._id,
    status: job.status,
    feature: job.feature,
    subfeature: job.subfeature,
    provider: job.provider,
    model: job.model,
    created_at: job.created_at.toISOString(),
    ...(job.finished_at === null ? {} : { finished_at: job.finished_at.toISOString() }),
    ...(job.status === 'success' ? { output: parseExact(result!.output) } : {}),
    ...(job.status === 'fail' ? { error: { message: job.error_message ?? 'The job failed.' } } : {}),
    ...(original === null || !isFinal(job) ? {} : { original_response: parseExact(original) }),
    ...(job.user_parameters === null ? {} : { user_parameters: parseExact(job.user_parameters) }),
  };
}

const isFinal = ({ status }: AiJobRecord) => status === 'success' || status === 'fail';
