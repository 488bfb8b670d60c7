import { z } from 'zod';

/** Statuses of an AI job, in the order it passes through them; the last two are final. */
export const JOB_STATUSES = ['queued', 'processing', 'success', 'fail'] as const;
export type JobStatus = (typeof JOB_STATUSES)[number];

const FINAL_JOB_STATUSES = ['success', 'fail'] as const satisfies readonly JobStatus[];
export type FinalJobStatus = (typeof FINAL_JOB_STATUSES)[number];

/** `<feature>/<subfeature>/<provider>`, and the provider's model as a fourth part, which may hold slashes itself. */
const MODEL = /^([a-z0-9_]+)\/([a-z0-9_]+)\/([a-z0-9_-]+)(?:\/([\w.:/@-]{1,200}))?$/;

const modelSchema = z
  .string()
  .regex(MODEL, 'must be <feature>/<subfeature>/<provider>, optionally followed by /<model>')
  .transform((text) => {
    const [, feature, subfeature, provider, model] = MODEL.exec(text)!;
    return { feature: feature!, subfeature: subfeature!, provider: provider!, model: model ?? null };
  });

const jsonObject = z.record(z.string(), z.unknown());

/** The body of `POST /v3/ai/async`; `input` is read by the subfeature's own schema. */
export const jobRequestSchema = z.object({
  model: modelSchema,
  input: jsonObject,
  webhook_receiver: z.string().max(2048).optional(),
  user_webhook_parameters: jsonObject.optional(),
  show_original_response: z.boolean().default(false),
});

/** What the input of a job names as its file: an upload's id (no address begins like one), or an address. */
export function readFileReference(file: string): { file_id: string } | { url: string } {
  return /^fil_\w{1,64}$/.test(file) ? { file_id: file } : { url: file };
}
