import type { FinalIndexingStatus } from './content/states.js';
import type { CrewOutcome } from './crews/workflow-contract.js';
import type { CallbackEvent } from './webhooks/events.js';
import type { DeliveryState } from './webhooks/states.js';

/** The counters of a worker. */
export interface WorkMetrics {
  /** An attempt whose outcome is stored. */
  deliveryAttempted(event: CallbackEvent, attempt: StoredAttempt): void;
  /** @param batch of this version of the item; its id has the time at which the request or sync was accepted */
  itemFinished(status: FinalIndexingStatus, batch: string): void;
  jobFinished(status: 'success' | 'fail'): void;
  crewFinished(status: CrewOutcome['status']): void;
  syncFinished(status: 'completed' | 'failed'): void;
}

export interface StoredAttempt {
  /** State of the delivery after the attempt. */
  status: DeliveryState;
  /** Whether a request was sent. */
  sent: boolean;
  entry: { duration_ms: number };
}

/** The texts that a process has embedded. */
export interface EmbeddingMetrics {
  /** A call of the model. @param texts how many it embedded; 0 when it failed */
  embedded(kind: 'document' | 'query', texts: number, milliseconds: number): void;
}

/** The second rankings that a process has requested. */
export interface RerankingMetrics {
  /** @param result `failed` when the first ranking stands */
  reranked(result: 'ok' | 'failed', milliseconds: number): void;
}

/** The calls of Temporal that start and signal workflows. */
export interface StarterMetrics {
  temporalCalled(result: 'ok' | 'failed', milliseconds: number): void;
}

/** Work of all organisations that is not finished. Counts stop at `MAX_COUNTED`. */
export interface Backlog {
  items: Waiting;
  /** Items whose index rows do not show their latest change. */
  rowsDue: number;
  deliveries: Waiting;
  /** Deliveries that could be attempted now, and when the first of them was due. */
  deliveriesDue: { count: number; since: Date | null };
  jobs: Waiting;
  crews: Waiting;
  /** Since when the first of the crews that wait for a person has waited. */
  crewsWaitingSince: Date | null;
  authentications: Waiting;
}

/** Records by state, and when the oldest of them was accepted. */
export interface Waiting {
  counts: Readonly<Record<string, number>>;
  oldest: Date | null;
}

/** Records of a kind that a count of the backlog reads at most. */
export const MAX_COUNTED = 10_000;

/** What the processes of an installation show of themselves. */
export interface InstallationHealth {
  /** Task queues that no running worker serves. */
  queuesWithoutWorker: string[];
  /** How often processes have ended without being asked to. */
  ends: { role: string; reason: string; count: number }[];
  /** When the reconciler had completed all of its jobs; null before the first time. */
  sweptAt: Date | null;
}
