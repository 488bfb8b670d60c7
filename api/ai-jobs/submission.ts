import type { z } from 'zod';
import { AI_FEATURES, type SubfeatureName } from '../../domain/ai-jobs/features.js';
import { type jobRequestSchema, readFileReference } from '../../domain/ai-jobs/jobs.js';
import { ServiceError } from '../../domain/errors.js';
import type { OutboundClient } from '../../domain/outbound.js';
import { type AiJobRecord, queuedJob } from '../../storage/ai-jobs/jobs.js';
import type { SigningKeys } from '../../storage/ai-jobs/signing-keys.js';
import type { Uploads } from '../../storage/ai-jobs/uploads.js';
import { canonicalFieldJson, parseKeepingNumbers } from '../canonical-fields.js';
import { read, rejectBlockedUrl } from '../validation.js';
import type { AiCatalogue } from './catalogue.js';

export interface SubmissionDependencies {
  uploads: Uploads;
  signingKeys: SigningKeys;
  catalogue: AiCatalogue;
  outbound: OutboundClient;
  /** Milliseconds after which a job fails. */
  jobTimeLimitMs: number;
}

/**
 * Creates the record of a job from a request.
 * @param text the body as it was sent
 * @throws ServiceError VALIDATION_ERROR, INVALID_PARAMETERS or FILE_NOT_FOUND, with the name of the field
 */
export async function readSubmission(
  deps: SubmissionDependencies,
  org: string,
  request: z.output<typeof jobRequestSchema>,
  text: string,
): Promise<AiJobRecord> {
  const { feature, subfeature, provider, model } = request.model;
  const name = requireAvailable(deps.catalogue, request.model);
  const input = read(AI_FEATURES[name].input, request.input, { at: 'input' });
  const { webhook_receiver } = request;
  if (webhook_receiver !== undefined) await rejectBlockedUrl(deps.outbound, 'webhook_receiver', webhook_receiver);
  const file = 'file' in input ? input.file : undefined;
  const file_id = file === undefined ? null : await checkFile(deps, org, file);
  return queuedJob(
    {
      org,
      feature,
      subfeature,
      provider,
      model,
      input: JSON.stringify(request.input),
      file_id,
      webhook_receiver: webhook_receiver ?? null,
      user_parameters: request.user_webhook_parameters === undefined ? null : exactParameters(text),
      show_original_response: request.show_original_response,
      time_limit_ms: deps.jobTimeLimitMs,
      signing_key: webhook_receiver === undefined ? null : await deps.signingKeys.currentId(org),
    },
    new Date(),
  );
}

function requireAvailable(
  catalogue: AiCatalogue,
  { feature, subfeature, provider, model }: z.output<typeof jobRequestSchema>['model'],
): SubfeatureName {
  const found = catalogue.find(`${feature}/${subfeature}`, provider);
  if (!found) {
    throw invalid(
      `model: there is no ${feature}/${subfeature}/${provider}; GET /v3/ai/models lists the available models`,
    );
  }
  if (model !== null && !found.models?.any && !found.models?.known.includes(model)) {
    throw invalid(`model: ${feature}/${subfeature}/${provider} has no model "${model}"`);
  }
  return found.subfeature;
}

/** Checks that an uploaded file exists, or that a URL is allowed. @returns the id of the upload, null for a URL */
async function checkFile(deps: SubmissionDependencies, org: string, file: string): Promise<string | null> {
  const reference = readFileReference(file);
  if ('url' in reference) {
    await rejectBlockedUrl(deps.outbound, 'input.file', reference.url);
    return null;
  }
  if (await deps.uploads.findForOrg(org, reference.file_id)) return reference.file_id;
  throw new ServiceError('FILE_NOT_FOUND', `input.file: there is no file "${reference.file_id}", or it has expired`);
}

/** The client's parameters as canonical JSON, with the numbers as the client wrote them. */
function exactParameters(body: string): string {
  return canonicalFieldJson('user_webhook_parameters', parseKeepingNumbers(body).user_webhook_parameters!);
}

const invalid = (message: string) => new ServiceError('VALIDATION_ERROR', message);
