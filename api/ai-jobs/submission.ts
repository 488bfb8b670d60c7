import type { z } from 'zod';
import { AI_FEATURES, type SubfeatureName } from '../../domain/ai-jobs/features.js';
import { type jobRequestSchema, readFileReference } from '../../domain/ai-jobs/jobs.js';
import { ServiceError } from '../../domain/errors.js';
import type { OutboundClient } from '../../domain/outbound.js';
import { type AiJobRecord, queuedJob } from '../../storage/ai-jobs/jobs.js';
import type { SigningKeys } from '../../storage/ai-jobs/signing-keys.js';
import type { Uploads } from '../../storage/ai-jobs/uploads.js';
import { readExact, writeExact } from '../exact-json.js';
import { read, rejectBlockedUrl } from '../validation.js';
import type { AiCatalogue } from './catalogue.js';

export interface SubmissionDependencies {
  uploads: Uploads;
  signingKeys: SigningKeys;
  catalogue: AiCatalogue;
  outbound: OutboundClient;
  /** Milliseconds until a job is given up. */
  jobTimeLimitMs: number;
}

/**
 * Reads a submission into the record of a job.
 * @param text the body as it came
 * @throws ServiceError that names what is wrong
 */
export async function readSubmission(
  deps: SubmissionDependencies,
  org: string,
  request: z.output<typeof jobRequestSchema>,
  text: string,
): Promise<AiJobRecord> {
  const { feature, subfeature, provider, model } = request.model;
  const name = findOffer(deps.catalogue, request.model);
  const input = readInput(name, request.input);
  const { webhook_receiver } = request;
  if (webhook_receiver !== undefined) await rejectBlockedUrl(deps.outbound, 'webhook_receiver', webhook_receiver);
  const file_id = input.file === undefined ? null : await checkFile(deps, org, input.file);
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
      signing_key: webhook_receiver === undefined ? null : await deps.signingKeys.currentId(),
    },
    new Date(),
  );
}

function findOffer(
  catalogue: AiCatalogue,
  wanted: { feature: string; subfeature: string; provider: string; model: string | null },
): SubfeatureName {
  const { feature, subfeature, provider, model } = wanted;
  const offer = catalogue.find(`${feature}/${subfeature}`, provider);
  if (!offer) {
    throw invalid(`model: there is no ${feature}/${subfeature}/${provider}; GET /v3/ai/models lists what there is`);
  }
  if (model !== null && !offer.models?.any && !offer.models?.known.includes(model)) {
    throw invalid(`model: ${feature}/${subfeature}/${provider} has no model "${model}"`);
  }
  return offer.subfeature;
}

function readInput(name: SubfeatureName, input: unknown): { file?: string } {
  try {
    return read(AI_FEATURES[name].input, input) as { file?: string };
  } catch (error) {
    if (error instanceof ServiceError) {
      const named = /^\w+: /.test(error.message);
      throw new ServiceError(error.code, `input${named ? '.' : ': '}${error.message}`);
    }
    throw error;
  }
}

/** A file by id must be there; one by address must be allowed. @returns the id */
async function checkFile(deps: SubmissionDependencies, org: string, file: string): Promise<string | null> {
  const named = readFileReference(file);
  if ('url' in named) {
    await rejectBlockedUrl(deps.outbound, 'input.file', named.url);
    return null;
  }
  if (await deps.uploads.findForOrg(org, named.file_id)) return named.file_id;
  throw new ServiceError('FILE_NOT_FOUND', `input.file: there is no file "${named.file_id}", or it has expired`);
}

/** The client's parameters in the form that is signed, with its own numbers. */
function exactParameters(body: string): string {
  return writeExact('user_webhook_parameters', readExact(body).user_webhook_parameters!);
}

const invalid = (message: string) => new ServiceError('VALIDATION_ERROR', message);
