import { canonicalJson } from '../../domain/canonical-json.js';
import type { AiJobRecord, AiJobResult } from './jobs.js';

/**
 * A job as its client reads it: the payload of the callback (specification, "Callback payload") without `event`; before
 * its end without what only the end brings.
 * @returns its members, each canonical JSON
 */
export function describeJob(job: AiJobRecord, result: AiJobResult | null): { [name: string]: string } {
  const { output, original } = result ?? { output: null, original: null };
  const members: { [name: string]: string | null } = {
    job_id: canonicalJson(job._id),
    status: canonicalJson(job.status),
    feature: canonicalJson(job.feature),
    subfeature: canonicalJson(job.subfeature),
    provider: canonicalJson(job.provider),
    model: canonicalJson(job.model),
    created_at: canonicalJson(job.created_at.toISOString()),
    finished_at: job.finished_at && canonicalJson(job.finished_at.toISOString()),
    output: job.status === 'success' ? output : null,
    error: job.status === 'fail' ? canonicalJson({ message: job.error_message ?? 'The job failed.' }) : null,
    original_response: job.finished_at && job.show_original_response ? original : null,
    user_parameters: job.user_parameters,
  };
  return Object.fromEntries(Object.entries(members).filter((entry): entry is [string, string] => entry[1] !== null));
}
