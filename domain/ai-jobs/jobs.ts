import { z } from 'zod';
import { callbackUrlSchema } from '../webhooks/registrations.js';
import { staticHeadersSchema } from '../webhooks/static-headers.js';

/** `<feature>/<subfeature>/<provider>`, optionally followed by `/<model>`. The model's name may contain slashes. */
const MODEL = /^([a-z0-9_]+)\/([a-z0-9_]+)\/([a-z0-9_-]+)(?:\/([\w.:/@-]{1,200}))?$/;

const modelSchema = z
  .string()
  .regex(MODEL, 'must be <feature>/<subfeature>/<provider>, optionally followed by /<model>')
  .transform((text) => {
    const [, feature, subfeature, provider, model] = MODEL.exec(text)!;
    return { feature: feature!, subfeature: subfeature!, provider: provider!, model: model ?? null };
  });

const jsonObject = z.record(z.string(), z.unknown());

/** The body of `POST /v3/ai/async`. The subfeature's schema validates `input`. */
export const jobRequestSchema = z.object({
  model: modelSchema,
  input: jsonObject.meta({
    description:
      'The `file`, `text` or `messages`, and the settings of the subfeature, beside them or in the object `settings`.',
  }),
  webhook_receiver: callbackUrlSchema.nullish().meta({ description: 'Null is the same as none.' }),
  webhook_headers: staticHeadersSchema.optional(),
  user_webhook_parameters: jsonObject.optional(),
  show_original_response: z.boolean().default(false),
});

/** @returns whether the `file` of an input is the id of an upload or a URL; no URL starts like an id */
export function readFileReference(file: string): { file_id: string } | { url: string } {
  return /^fil_\w{1,64}$/.test(file) ? { file_id: file } : { url: file };
}
