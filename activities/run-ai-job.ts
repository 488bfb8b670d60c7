import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ApplicationFailure, CancelledFailure, Context } from '@temporalio/activity';
import { ApplicationFailureCategory } from '@temporalio/common';
import type { Logger } from 'pino';
import { type AiProviders, ProviderError, type ProviderResult } from '../domain/ai-provider.js';
import { canonicalJson, tidyJson } from '../domain/canonical-json.js';
import { ExtractionError } from '../domain/extraction.js';
import { JOB_CANCELLED, JOB_FAILED, type JobRef } from '../domain/work.js';
import type { AiJobs } from '../storage/ai-jobs.js';
import type { AiJobRecord } from '../storage/records.js';
import type { EndingDependencies } from './ending.js';
import { createFinishJob } from './finish-job.js';
import { withHeartbeat } from './heartbeat.js';
import { type JobInputDependencies, prepareInput } from './job-input.js';

export interface AiJobDependencies extends EndingDependencies, JobInputDependencies {
  aiJobs: AiJobs;
  providers: AiProviders;
  log: Logger;
}

export type AiJobActivities = ReturnType<typeof createAiJobActivities>;

/** After this many attempts a provider's passing error is taken for a lasting one. */
const MAX_PROVIDER_ATTEMPTS = 5;
/** A MongoDB document holds 16 MiB, and a receiver may not want more. */
const MAX_RESULT_BYTES = 7 * 1024 * 1024;

/** The steps of an AI job. Each may be repeated without harm. */
export function createAiJobActivities(deps: AiJobDependencies) {
  const { aiJobs, providers } = deps;
  const finish = createFinishJob(deps);

  return {
    /** queued -> processing -> success: fetches the input, runs the provider, stores what it gives and announces it. */
    async runProvider(ref: JobRef): Promise<void> {
      try {
        await withHeartbeat(async (cancelled) => {
          const job = await aiJobs.start(ref.job);
          if (job?.cancel_requested) throw new ProviderError(JOB_CANCELLED, false);
          // Stored by an attempt that could not finish: no provider is paid twice for it.
          if (job && !(await aiJobs.result(job._id))) await runAndStore(job, ref, cancelled);
          // Also when an earlier attempt has ended the job: its delivery may not have been started.
          await finish(ref, { status: 'success' });
        });
      } catch (error) {
        throw asJobFailure(error, ref.job);
      }
    },

    /** -> fail, with the delivery that announces it. */
    failJob: (ref: JobRef, error_message: string): Promise<void> => finish(ref, { status: 'fail', error_message }),
  };

  async function runAndStore(job: AiJobRecord, ref: JobRef, cancelled: AbortSignal): Promise<void> {
    const timeUp = AbortSignal.timeout(ref.time_limit_ms);
    const result = await run(job, AbortSignal.any([cancelled, timeUp])).catch((error) => {
      throw timeUp.aborted ? new ProviderError('The job took longer than is allowed.', false) : error;
    });
    await save(job, result);
  }

  async function run(job: AiJobRecord, signal: AbortSignal): Promise<ProviderResult> {
    const provider = providers.find(`${job.feature}/${job.subfeature}`, job.provider);
    if (!provider) throw new ProviderError('This provider is not configured any more.', false);
    const folder = await mkdtemp(join(tmpdir(), 'postback-'));
    try {
      const input = await prepareInput(deps, job, folder, signal);
      const options = { model: job.model, parts: aiJobs.partsOf(job._id) };
      return await provider.run(input, options, signal, () => Context.current().heartbeat());
    } finally {
      await rm(folder, { recursive: true, force: true });
    }
  }

  async function save(job: AiJobRecord, { output, original }: ProviderResult): Promise<void> {
    const shown = job.show_original_response ? canonicalJson(tidyJson(original)) : null;
    const written = canonicalJson(tidyJson(output));
    if (Buffer.byteLength(written) > MAX_RESULT_BYTES || Buffer.byteLength(shown ?? '') > MAX_RESULT_BYTES) {
      throw new ProviderError(`The result is over ${MAX_RESULT_BYTES} bytes.`, false);
    }
    await aiJobs.saveResult(job._id, written, shown);
  }

  /** Turns any error into the failure that the workflow understands; whether Temporal retries follows from it. */
  function asJobFailure(error: unknown, job: string): Error {
    const { attempt, activityType } = Context.current().info;
    if (error instanceof CancelledFailure || Context.current().cancellationSignal.aborted) return error as Error;
    deps.log.warn({ err: error, job, activity: activityType, attempt }, 'job activity failed');
    if (error instanceof ExtractionError) return failed(error.message, { nonRetryable: true });
    if (error instanceof ProviderError) {
      const nonRetryable = !error.retryable || attempt >= MAX_PROVIDER_ATTEMPTS;
      return failed(error.message, { nonRetryable, nextRetryDelay: error.retryAfterMs });
    }
    return ApplicationFailure.create({ type: 'InternalError', message: `An internal error: ${(error as Error).name}` });
  }
}

function failed(message: string, options: { nonRetryable: boolean; nextRetryDelay?: number | undefined }) {
  return ApplicationFailure.create({
    type: JOB_FAILED,
    message,
    // The client's input or the provider is at fault; that is not this worker's failure to count.
    category: ApplicationFailureCategory.BENIGN,
    ...options,
  });
}
