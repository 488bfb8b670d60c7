import { Context } from '@temporalio/activity';
import type { AiJobResult } from '../../domain/ai-jobs/job-payload.js';
import type { AiProviders, ProviderResult } from '../../domain/ai-jobs/provider.js';
import {
  JOB_CANCELLED,
  JOB_FAILED,
  type JobOutcome,
  type JobRef,
  type JobsAttempt,
  type JobsRef,
} from '../../domain/ai-jobs/workflow-contract.js';
import { JsonError, tidyCanonicalJson } from '../../domain/canonical-json.js';
import { type Checkpoints, noCheckpoints } from '../../domain/checkpoints.js';
import { ProviderError } from '../../domain/errors.js';
import { newDeliveryId } from '../../domain/ids.js';
import type { WorkMetrics } from '../../domain/metrics.js';
import { type AiJobRecord, type PackedResult, packResult } from '../../storage/ai-jobs/job-record.js';
import type { AiJobs, JobEnd } from '../../storage/ai-jobs/jobs.js';
import type { CheckpointStore } from '../../storage/checkpoints.js';
import type { Quotas } from '../../storage/quotas.js';
import type { NewDelivery } from '../../storage/webhooks/new-delivery.js';
import { asActivityFailure, type ClientError, MAX_DEFECT_ATTEMPTS } from '../failures.js';
import { withHeartbeat } from '../heartbeat.js';
import { type CompletionDependencies, createCompletion } from '../webhooks/completion.js';
import { type JobInputDependencies, withInput } from './job-input.js';

export interface AiJobDependencies extends FinishJobDependencies, JobInputDependencies {
  now: () => Date;
  aiJobs: FinishJobDependencies['aiJobs'] &
    Pick<AiJobs, 'countProviderFailure' | 'hasResult' | 'saveResult' | 'start' | 'uncountRun'>;
  checkpoints: CheckpointStore;
  providers: Pick<AiProviders, 'find'>;
  quotas: Pick<Quotas, 'tokenMeter'>;
}

export type AiJobActivities = ReturnType<typeof createAiJobActivities>;

/** Transient errors of a provider after which the job fails. */
const MAX_PROVIDER_FAILURES = 5;
/** Runs whose worker was killed, after which the job fails: it is likely that the job is the cause. */
const MAX_LOST_RUNS = 5;
/** Bytes of the output, and of the provider's original response. */
const MAX_RESULT_BYTES = 16 * 1024 * 1024;

const TOOK_TOO_LONG = 'The job exceeded its time limit.';

/** The steps of an AI job. Each can be repeated. */
export function createAiJobActivities(deps: AiJobDependencies) {
  const { aiJobs, providers } = deps;
  const finish = createFinishJob(deps);

  return {
    /** queued -> processing -> success: fetches the input, runs the provider, and stores the result and the callback. */
    runProvider: (ref: JobRef): Promise<JobOutcome> =>
      withHeartbeat(async (cancelled) => {
        const job = (await aiJobs.start(ref.org, [ref.job])).get(ref.job) ?? null;
        try {
          return await runToSuccess(ref, job, cancelled);
        } catch (error) {
          throw job ? await asJobFailure(error, job) : error;
        }
      }),

    /** The same for quick jobs together, which also fail here when their error is final. */
    async runAtOnce({ org, jobs }: JobsRef): Promise<JobsAttempt> {
      const { cancellationSignal } = Context.current();
      const started = await aiJobs.start(org, jobs);
      // An error of the storage is no reason to repeat the others.
      const run = (job: string) =>
        runQuickly({ job, org }, started.get(job) ?? null, cancellationSignal).catch(() => null);
      const outcomes = await Promise.all(jobs.map(run));
      const attempt: JobsAttempt = { succeeded: 0, failed: [], left: [] };
      for (const [n, job] of jobs.entries()) {
        const outcome = outcomes[n];
        if (!outcome) attempt.left.push(job);
        else if (outcome.status === 'success') attempt.succeeded += 1;
        else attempt.failed.push({ job, error_message: outcome.error_message });
      }
      return attempt;
    },

    /** -> fail, with the delivery that notifies the client. */
    failJob: async (ref: JobRef, error_message: string, error_code?: JobOutcome['error_code']): Promise<JobOutcome> => {
      const outcome = await finish(ref, { status: 'fail', error_message, ...(error_code ? { error_code } : {}) });
      await deps.checkpoints.drop(ref.org, ref.job);
      return outcome;
    },
  };

  /**
   * @param job null when an earlier attempt has finished it: its delivery may not have been started
   * @returns null when the job must be continued by `runProvider`
   */
  async function runQuickly(ref: JobRef, job: AiJobRecord | null, cancelled: AbortSignal): Promise<JobOutcome | null> {
    try {
      if (!job) return await finish(ref, { status: 'success' });
      // A run was lost with its process. The job may be the cause, so it runs alone.
      if (job.runs > 1) return await leave(job);
      const result = await runJob(job, cancelled, noCheckpoints);
      // One transaction: no provider is paid, so a crash before it costs nothing but another run.
      return await finish(ref, { status: 'success' }, await asTooLarge(packResult(result)));
    } catch (error) {
      if (error instanceof ProviderError && !error.retryable)
        return finish(ref, { status: 'fail', error_message: error.message });
      return job && leave(job);
    }
  }

  async function leave({ org, _id }: AiJobRecord): Promise<null> {
    await aiJobs.uncountRun(org, _id);
    return null;
  }

  /** @param job null when an earlier attempt has finished it: its delivery may not have been started */
  async function runToSuccess(ref: JobRef, job: AiJobRecord | null, cancelled: AbortSignal): Promise<JobOutcome> {
    // A result stored by an earlier attempt is used, so that no provider is paid twice.
    if (job && !(await aiJobs.hasResult(job.org, job._id))) {
      const result = await runJob(job, cancelled);
      await asTooLarge(aiJobs.saveResult(job.org, job._id, result));
    }
    const outcome = await finish(ref, { status: 'success' });
    await deps.checkpoints.drop(ref.org, ref.job);
    return outcome;
  }

  /** @param checkpoints by default those of the job @throws ProviderError, or an error of the storage */
  async function runJob(job: AiJobRecord, cancelled: AbortSignal, checkpoints?: Checkpoints): Promise<AiJobResult> {
    if (job.cancel_requested) throw new ProviderError(JOB_CANCELLED, false);
    if (job.runs > MAX_LOST_RUNS) throw new ProviderError('The job failed because of an internal error.', false);
    const remainingMs = remainingTimeMs(job, deps.now());
    if (remainingMs <= 0) throw new ProviderError(TOOK_TOO_LONG, false);
    const timeUp = AbortSignal.timeout(remainingMs);
    const { output, original } = await run(job, AbortSignal.any([cancelled, timeUp]), checkpoints).catch((error) => {
      throw timeUp.aborted ? new ProviderError(TOOK_TOO_LONG, false) : error;
    });
    const tidy = async () => ({
      output: await tidyCanonicalJson(output, MAX_RESULT_BYTES),
      original: job.show_original_response ? await tidyCanonicalJson(original, MAX_RESULT_BYTES) : null,
    });
    return asTooLarge(tidy());
  }

  async function run(job: AiJobRecord, signal: AbortSignal, checkpoints?: Checkpoints): Promise<ProviderResult> {
    const provider = providers.find(`${job.feature}/${job.subfeature}`, job.provider);
    if (!provider) throw new ProviderError('This provider is no longer configured.', false);
    return withInput(deps, job, signal, ({ input, fingerprint }) => {
      const options = {
        model: job.model,
        checkpoints: checkpoints ?? deps.checkpoints.of(job.org, job._id, fingerprint),
        original: job.show_original_response,
        meter: deps.quotas.tokenMeter(job.org),
        org: job.org,
      };
      return provider.run(input, options, signal);
    });
  }

  async function asJobFailure(error: unknown, job: AiJobRecord): Promise<Error> {
    // Best effort: without MongoDB nothing can be counted.
    await aiJobs.uncountRun(job.org, job._id).catch(() => undefined);
    const described = error instanceof ProviderError ? await describeProviderError(error, job) : undefined;
    return asActivityFailure(error, { describe: () => described, maxDefectAttempts: MAX_DEFECT_ATTEMPTS });
  }

  async function describeProviderError(
    { message, retryable, retryAfterMs }: ProviderError,
    job: AiJobRecord,
  ): Promise<ClientError> {
    const transient = retryable && (retryAfterMs ?? 0) < remainingTimeMs(job, deps.now());
    const failures = transient ? await aiJobs.countProviderFailure(job.org, job._id) : 0;
    const worthRetrying = transient && failures < MAX_PROVIDER_FAILURES;
    return { code: JOB_FAILED, message, retryable: worthRetrying, retryAfterMs, benign: true };
  }
}

/** @throws ProviderError when the result is too large; any other error as it is */
async function asTooLarge<T>(storing: Promise<T>): Promise<T> {
  try {
    return await storing;
  } catch (error) {
    if (!(error instanceof JsonError || error instanceof RangeError)) throw error;
    throw new ProviderError('The result is too large.', false);
  }
}

function remainingTimeMs({ started_at, time_limit_ms }: AiJobRecord, now: Date): number {
  return started_at!.getTime() + time_limit_ms - now.getTime();
}

interface FinishJobDependencies extends CompletionDependencies {
  aiJobs: Pick<AiJobs, 'finish' | 'getById'>;
  metrics: Pick<WorkMetrics, 'jobFinished'>;
}

/**
 * Stores the outcome of an AI job, together with the delivery that notifies the receiver it named.
 * @returns the outcome on record: a cancellation, or an earlier attempt, may have decided otherwise
 */
function createFinishJob(deps: FinishJobDependencies) {
  const complete = createCompletion<JobCompletion>(deps, async (completions, tx, now) => {
    const jobs = await deps.aiJobs.finish(completions[0]!.org, completions, now, tx);
    return jobs.map((job, n) => {
      completions[n]!.finished = job;
      return job ? callbackOf(job, now) : undefined;
    });
  });
  return async ({ job, org }: JobRef, outcome: JobOutcome, result: PackedResult | null = null): Promise<JobOutcome> => {
    const completion: JobCompletion = { job, org, outcome, result, finished: null };
    const ended = await complete(org, completion);
    const stored = outcomeOf(completion.finished ?? (await deps.aiJobs.getById(org, job)), outcome);
    if (ended) deps.metrics.jobFinished(stored.status);
    return stored;
  };
}

interface JobCompletion extends JobEnd {
  org: string;
  /** The job after the transaction; null when it had finished before. */
  finished: AiJobRecord | null;
}

/** @returns the delivery that notifies the receiver; null when the job has none */
function callbackOf({ _id, org, webhook_receiver, signing_key }: AiJobRecord, now: Date): NewDelivery | null {
  if (webhook_receiver === null) return null;
  return {
    _id: newDeliveryId(now),
    org,
    dedupe_key: `ai-job/${_id}`,
    event_type: 'async_job_completed',
    doc_id: _id,
    url: webhook_receiver,
    signing_key: signing_key!,
    now,
  };
}

/** @param otherwise the outcome of a job whose record was removed */
function outcomeOf(job: AiJobRecord | null, otherwise: JobOutcome): JobOutcome {
  if (job?.status !== 'success' && job?.status !== 'fail') return otherwise;
  const { status, error_code, error_message } = job;
  return { status, ...(error_code ? { error_code } : {}), ...(error_message ? { error_message } : {}) };
}
