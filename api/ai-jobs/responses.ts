/** Responses of the AI job service. */
import { z } from 'zod';
import { readFileReference } from '../../domain/ai-jobs/jobs.js';
import { JOB_STATUSES } from '../../domain/ai-jobs/states.js';
import { CANCELLED } from '../../domain/ai-jobs/workflow-contract.js';
import type { AiJobRecord } from '../../storage/ai-jobs/job-record.js';
import { workflowIds } from '../../temporal/workflow-ids.js';
import { listSchema } from '../pagination.js';
import { pickFields } from '../pick-fields.js';

const time = z.iso.datetime();

export const uploadedSchema = z
  .object({
    file_id: z.string(),
    filename: z.string(),
    size: z.int().meta({ description: 'Bytes.' }),
    mime_type: z.string(),
    expires_at: time,
  })
  .meta({ id: 'Upload' });

export const deletedUploadSchema = z.object({ file_id: z.string(), deleted: z.literal(true) });

const job = {
  job_id: z.string(),
  status: z.enum(JOB_STATUSES),
  feature: z.string(),
  subfeature: z.string(),
  provider: z.string(),
  model: z.string().nullable().meta({ description: "The provider's model; null for the provider's default." }),
  created_at: time,
};

export const submittedSchema = z.object(job);

/** The payload of a callback, without `event`. */
export const jobSchema = z.object({
  ...job,
  finished_at: time.optional(),
  output: z.unknown().optional().meta({ description: 'With status `success`; the subfeature defines its fields.' }),
  error: z.object({ message: z.string() }).optional().meta({ description: 'With status `fail`.' }),
  original_response: z
    .unknown()
    .optional()
    .meta({ description: "The provider's own response, with `show_original_response`." }),
  user_parameters: z.unknown().optional(),
});

const polledError = z
  .object({
    code: z.literal(CANCELLED).optional().meta({ description: 'Only for a cancelled job.' }),
    message: z.string(),
  })
  .optional()
  .meta({ description: 'With status `fail`.' });

const workflow = z
  .string()
  .meta({ description: 'For operators: the id of the workflow in Temporal that runs the job.' });

const subject = z
  .string()
  .nullable()
  .meta({ description: 'The name of the file, or the beginning of the text; null when the input has neither.' });

export const polledJobSchema = jobSchema.extend({ subject, error: polledError, workflow }).meta({ id: 'Job' });

const jobSummarySchema = z
  .object({ ...job, subject, finished_at: time.optional(), error: polledError, workflow })
  .meta({ id: 'JobSummary' });

export const jobListSchema = listSchema('jobs', jobSummarySchema);

/** A job in a list. */
export function summariseJob(record: AiJobRecord) {
  const { error_code, error_message } = record;
  const error = { ...(error_code && { code: error_code }), message: error_message ?? 'The job failed.' };
  return pickFields(jobSummarySchema, {
    ...record,
    job_id: record._id,
    subject: record.subject ?? null,
    finished_at: record.finished_at ?? undefined,
    error: record.status === 'fail' ? error : undefined,
    workflow: workflowIds.job(record),
  });
}

export const jobInputSchema = z
  .object({
    model: z.string().meta({ example: 'text/summarize/wink' }),
    input: z.record(z.string(), z.unknown()).meta({ description: 'What the subfeature takes.' }),
  })
  .meta({ id: 'JobInput' });

/** What was asked of a job. */
export function describeInput({ feature, subfeature, provider, model, input }: AiJobRecord) {
  const { file, ...fields } = JSON.parse(input) as { file?: string };
  return {
    model: [feature, subfeature, provider, model].filter((part) => part !== null).join('/'),
    input: { ...(file === undefined ? {} : { file: withoutQuery(file) }), ...fields },
  };
}

function withoutQuery(file: string): string {
  if ('file_id' in readFileReference(file)) return file;
  const { origin, pathname } = new URL(file);
  return origin + pathname;
}

export const cancellingSchema = z.object({ job_id: z.string(), status: z.literal('cancelling') });

export const modelsSchema = z.object({
  max_file_bytes: z.int().meta({ description: 'The largest file that `POST /v3/upload` takes.' }),
  models: z.array(
    z
      .object({
        model: z.string().meta({ example: 'ocr/ocr_async/tesseract' }),
        feature: z.string(),
        subfeature: z.string(),
        provider: z.string(),
        summary: z.string(),
        takes: z.string().meta({ description: 'Whether the `input` of a job has a file, a text or messages.' }),
        input: z
          .record(z.string(), z.unknown())
          .meta({ description: 'JSON Schema of the `input` of a job, with its settings and their defaults.' }),
        provider_models: z
          .object({
            default: z.string(),
            known: z.array(z.string()).meta({ description: 'The models that a job may name, the default among them.' }),
            max_tokens: z.int().nullable().meta({ description: 'Tokens that a request may generate; null: no limit.' }),
          })
          .nullable()
          .meta({ description: 'Null when the provider has no choice of models.' }),
      })
      .meta({ id: 'AiModel' }),
  ),
});
