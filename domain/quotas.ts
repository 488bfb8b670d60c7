import { ServiceError } from './errors.js';

/** What an organisation can be limited in, and what each quota counts, for operators and clients. */
export const QUOTA_DESCRIPTIONS = {
  stored_bytes:
    'Bytes of the files and texts of all items, of all uploads, of the inputs and results of AI jobs and crews, and of feedback.',
  items: 'Items of all databases.',
  databases: 'Databases, until their deletion has finished.',
  connectors: 'Connectors.',
  queued_jobs: 'AI jobs that have not finished.',
  running_crews: 'Executions of crews that have not finished; an execution that waits for a person counts.',
  uploads: 'Uploaded files for AI jobs, until they are removed after their expiry.',
  model_tokens: 'Input and output tokens of language models in AI jobs and crews, per day (UTC).',
} as const;
export type Quota = keyof typeof QUOTA_DESCRIPTIONS;

export const QUOTAS = Object.keys(QUOTA_DESCRIPTIONS) as Quota[];

/** A limit of null is no limit. */
export type Limits = Record<Quota, number | null>;

/** Use, or what a request adds to it; absent quotas are not affected. */
export type AddedUse = Partial<Record<Quota, number>>;

/** @returns the limit in a setting or an argument: a whole number, null for `unlimited`, or undefined when it is neither */
export function parseLimit(text: string): number | null | undefined {
  if (text === 'unlimited') return null;
  const limit = Number(text);
  return /^\d+$/.test(text) && Number.isSafeInteger(limit) ? limit : undefined;
}

/** The error for a request that would exceed a quota, and does not pass by itself. @param used before the request */
export function quotaExceeded(quota: Quota, used: number, limit: number, added: number): ServiceError {
  const message = `The quota ${quota} of the organisation is exceeded: ${used} of ${limit} are in use, and this request adds ${added}.`;
  return new ServiceError('FORBIDDEN', message, { details: { quota, used, limit } });
}

/** The error for work that needs a language model when the tokens of the day are used up. */
export function tokensUsedUp(used: number, limit: number, resetsAt: Date, now: Date): ServiceError {
  return new ServiceError(
    'RATE_LIMITED',
    `The quota model_tokens of the organisation is exceeded: ${used} of ${limit} are in use until ${resetsAt.toISOString()}.`,
    {
      retryAfterSeconds: (resetsAt.getTime() - now.getTime()) / 1000,
      details: { quota: 'model_tokens', used, limit },
    },
  );
}

/** Counts the tokens that a language model uses for one organisation, within its quota. */
export interface TokenMeter {
  /** Call before the model is called. @throws ProviderError when the quota is used up */
  admit(): Promise<void>;
  /** @param tokens input and output tokens of a finished call */
  count(tokens: number): Promise<void>;
}
