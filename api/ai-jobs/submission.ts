import { z } from 'zod';
import { AI_FEATURES, type SubfeatureName, settingsOf } from '../../domain/ai-jobs/features.js';
import { type jobRequestSchema, readFileReference } from '../../domain/ai-jobs/jobs.js';
import { ServiceError } from '../../domain/errors.js';
import { type AiJobRecord, queuedJob } from '../../storage/ai-jobs/job-record.js';
import { fileNotFound } from '../../storage/ai-jobs/jobs.js';
import type { UploadRecord } from '../../storage/ai-jobs/uploads.js';
import type { Dependencies } from '../dependencies.js';
import { canonicalFieldJson, parseKeepingNumbers } from '../json-body.js';
import { checkFields } from '../known-fields.js';
import { read, rejectBlockedUrl } from '../validation.js';
import type { AvailableProvider } from './catalogue.js';

/** A text that every quick provider reads in a fraction of a second. */
const MAX_QUICK_CHARACTERS = 20_000;

const SUBJECT_CHARACTERS = 100;

/**
 * Creates the record of a job from a request.
 * @param text the body as it was sent
 * @throws ServiceError VALIDATION_ERROR, INVALID_PARAMETERS or FILE_NOT_FOUND, with the name of the field; FORBIDDEN
 */
export async function readSubmission(
  deps: Dependencies,
  org: string,
  request: z.output<typeof jobRequestSchema>,
  text: string,
): Promise<AiJobRecord> {
  const { feature, subfeature, provider, model } = request.model;
  const available = requireAvailable(deps.catalogue, request.model);
  const name = available.subfeature;
  const given = withSettings(name, request.input);
  const input = read(AI_FEATURES[name].input, given.input, { at: 'input', fieldNames: given.fieldNames });
  rejectExcessTokens(input, available.models, given.fieldNames);
  const webhook_receiver = request.webhook_receiver ?? null;
  if (webhook_receiver === null && request.webhook_headers) throw invalid('webhook_headers: needs a webhook_receiver');
  if (webhook_receiver !== null) await rejectBlockedUrl(deps.outbound, 'webhook_receiver', webhook_receiver);
  const file = 'file' in input ? input.file : undefined;
  if (available.metered) await deps.quotas.requireTokens(org, deps.now());
  const upload = file === undefined ? null : await checkFile(deps, org, file);
  const job = queuedJob(
    {
      org,
      feature,
      subfeature,
      provider,
      model,
      // Without fields that are null: the worker reads it by the schema alone.
      input: JSON.stringify(checkFields(AI_FEATURES[name].input, given.input).given),
      subject: subjectOf(input, upload),
      file_id: upload?._id ?? null,
      webhook_receiver,
      user_parameters: request.user_webhook_parameters === undefined ? null : exactParameters(text),
      show_original_response: request.show_original_response,
      time_limit_ms: deps.jobTimeLimitMs,
      quick: available.quick === true && hasShortText(input),
      signing_key: webhook_receiver === null ? null : await deps.signingKeys.currentId(org),
    },
    deps.now(),
  );
  if (request.webhook_headers) {
    job.headers = deps.jobHeaders.seal(job._id, request.webhook_headers);
    job.bytes += job.headers?.sealed.length() ?? 0;
  }
  return job;
}

function requireAvailable(
  catalogue: Dependencies['catalogue'],
  { feature, subfeature, provider, model }: z.output<typeof jobRequestSchema>['model'],
): AvailableProvider {
  const found = catalogue.find(`${feature}/${subfeature}`, provider);
  if (!found) {
    throw invalid(
      `model: there is no ${feature}/${subfeature}/${provider}; GET /v3/ai/models lists the available models`,
    );
  }
  if (model !== null && !found.models?.known.includes(model)) {
    throw invalid(
      `model: ${feature}/${subfeature}/${provider} has no model "${model}"; GET /v3/ai/models lists its models`,
    );
  }
  return found;
}

/**
 * Moves the settings out of `settings`: `{"text": …, "settings": {"sentences": 3}}` is `{"text": …, "sentences": 3}`.
 * @returns the input for the subfeature's schema, and the name that the client used for each moved field
 * @throws ServiceError VALIDATION_ERROR for settings that the subfeature does not have, and for one that is given twice
 */
function withSettings(
  name: SubfeatureName,
  { settings, ...input }: Record<string, unknown>,
): { input: Record<string, unknown>; fieldNames: Record<string, string> } {
  if (settings === undefined || settings === null) return { input, fieldNames: {} };
  const moved = Object.entries(read(settingsSchema, settings, { at: 'input.settings', nested: true }));
  const known = settingsOf(name);
  const unknown = moved.find(([field]) => !known.includes(field));
  if (unknown) throw invalid(`input.settings: has an unknown field "${unknown[0]}"`);
  const twice = moved.find(([field]) => Object.hasOwn(input, field));
  if (twice) throw invalid(`input.settings.${twice[0]}: is also in input`);
  return {
    input: { ...input, ...Object.fromEntries(moved) },
    fieldNames: Object.fromEntries(moved.map(([field]) => [field, `settings.${field}`])),
  };
}

const settingsSchema = z.record(z.string(), z.unknown());

/** A file is not short: it must be fetched and read first. */
function hasShortText(input: object): boolean {
  return 'text' in input && typeof input.text === 'string' && input.text.length <= MAX_QUICK_CHARACTERS;
}

function rejectExcessTokens(input: object, models: AvailableProvider['models'], names: Record<string, string>): void {
  const limit = models?.max_tokens ?? null;
  if (limit !== null && 'max_tokens' in input && Number(input.max_tokens) > limit) {
    throw invalid(`input.${names.max_tokens ?? 'max_tokens'}: must not exceed ${limit}`);
  }
}

/** Checks that an uploaded file exists, or that a URL is allowed. @returns the upload, null for a URL */
async function checkFile(deps: Dependencies, org: string, file: string): Promise<UploadRecord | null> {
  const reference = readFileReference(file);
  if ('url' in reference) {
    await rejectBlockedUrl(deps.outbound, 'input.file', reference.url);
    return null;
  }
  const upload = await deps.uploads.findForOrg(org, reference.file_id);
  if (upload) return upload;
  throw fileNotFound(reference.file_id);
}

/** What people recognise a job by: the name of the file, or the beginning of the text or of the last message. */
function subjectOf(input: object, upload: UploadRecord | null): string | undefined {
  if (upload) return upload.filename;
  const { file, text, messages } = input as { file?: string; text?: string; messages?: readonly { content: string }[] };
  if (file !== undefined) {
    // Without the query, which may hold a password.
    const { host, pathname } = new URL(file);
    return beginningOf(host + pathname);
  }
  const said = text ?? messages?.at(-1)?.content;
  return typeof said === 'string' ? beginningOf(said) : undefined;
}

function beginningOf(text: string): string {
  const line = text
    .slice(0, 4 * SUBJECT_CHARACTERS)
    .replace(/\s+/g, ' ')
    .trim();
  const characters = [...line];
  return characters.length <= SUBJECT_CHARACTERS ? line : `${characters.slice(0, SUBJECT_CHARACTERS - 1).join('')}…`;
}

/** The client's parameters as canonical JSON, with the numbers as the client wrote them. */
function exactParameters(body: string): string {
  return canonicalFieldJson('user_webhook_parameters', parseKeepingNumbers(body).user_webhook_parameters!);
}

const invalid = (message: string) => new ServiceError('VALIDATION_ERROR', message);
