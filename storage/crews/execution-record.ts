import type { CrewDefinition, CrewInputs, ExecutionErrorCode, WebhookUrls } from '../../domain/crews/crews.js';
import type { TaskDecision } from '../../domain/crews/decisions.js';
import { newReviewKey } from '../../domain/crews/review-links.js';
import type { CrewTaskStatus, ExecutionStatus } from '../../domain/crews/states.js';
import { newExecutionId } from '../../domain/ids.js';
import { textBytes } from '../../domain/text-bytes.js';
import type { StoredHeaders } from '../webhooks/static-headers.js';

export interface CrewExecutionRecord {
  /** UUID. */
  _id: string;
  org: string;
  crew: string;
  /** The crew at the kickoff. Later changes to the crew's files do not affect the execution. */
  definition: CrewDefinition;
  /** JSON, because MongoDB does not store every field name. */
  inputs: string;
  /** JSON, as the client sent it. */
  meta: string | null;
  /** Bytes of inputs, `meta`, static headers, feedback and the outputs of all attempts, for the use of an organisation. */
  bytes: number;
  status: ExecutionStatus;
  /** URLs of the kickoff, then of the latest resume. */
  urls: WebhookUrls;
  /** Static headers of the receivers. */
  headers?: StoredHeaders | null;
  tasks: CrewTaskRecord[];
  error_message: string | null;
  error_code?: ExecutionErrorCode | null;
  cancel_requested?: boolean;
  /** Since when a task waits for a person; null or absent while none does. */
  waiting_since?: Date | null;
  /** Signs the review links. Never shown. */
  review_key?: string;
  /** Number of the latest event; callbacks carry it. */
  sequence: number;
  /** Time after which the reconciler checks the execution's workflow. */
  check_at: Date;
  created_at: Date;
  finished_at: Date | null;
  /** When MongoDB removes the record; null while the execution is unfinished. */
  expires_at: Date | null;
}

/** A task within an execution. */
export interface CrewTaskRecord {
  task_id: string;
  agent: string;
  status: CrewTaskStatus;
  attempts: number;
  /** Output of the latest attempt that has one. */
  output: string | null;
  /** Label of the model that runs the task. */
  model: string | null;
  /** Absent until somebody has decided on an output. */
  decision?: TaskDecision;
}

/**
 * The record of an execution that is to be started.
 * @param given inputs as texts, and `meta` as JSON
 */
export function newExecution(
  org: string,
  definition: CrewDefinition,
  { inputs, meta = null }: { inputs: CrewInputs; meta?: string | null },
  urls: WebhookUrls,
  now: Date,
): CrewExecutionRecord {
  const givenInputs = JSON.stringify(inputs);
  return {
    _id: newExecutionId(),
    org,
    crew: definition.name,
    definition,
    inputs: givenInputs,
    meta,
    bytes: textBytes(givenInputs, meta),
    status: 'running',
    urls,
    tasks: definition.tasks.map(({ name: task_id, agent }) => {
      return { task_id, agent, status: 'pending', attempts: 0, output: null, model: null };
    }),
    error_message: null,
    review_key: newReviewKey(),
    sequence: 0,
    check_at: now,
    created_at: now,
    finished_at: null,
    expires_at: null,
  };
}

/** @returns when a decision on the output that waits is due; null when none waits, or it waits without limit */
export function deadlineOf({
  waiting_since,
  definition: { review },
}: Pick<CrewExecutionRecord, 'waiting_since' | 'definition'>): Date | null {
  if (!waiting_since || !review?.deadline_ms) return null;
  return new Date(waiting_since.getTime() + review.deadline_ms);
}
