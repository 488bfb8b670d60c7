import { canonicalJson, canonicalObject, tidyJson } from '../../domain/canonical-json.js';
import { newDeliveryId } from '../../domain/ids.js';
import type { CrewEvent } from '../../domain/webhooks/events.js';
import { type DeliveryRecord, pendingDelivery } from '../webhooks/deliveries.js';
import type { CrewExecutionRecord } from './executions.js';

/** What happened in an execution, as its callback tells it. */
export interface CrewEventData {
  event: CrewEvent;
  task_id?: string;
  agent?: string;
  /** Text; of a step, what was thought or done. */
  output?: unknown;
  /** Why the execution failed. */
  error?: string;
}

const RECEIVER = {
  task_completed: 'task',
  task_pending_human_input: 'task',
  step: 'step',
  crew_completed: 'crew',
  crew_failed: 'crew',
} as const;

/**
 * The delivery that tells of it, its body made here once.
 * @param dedupe_key one delivery each, however often its transaction is repeated
 * @returns null when the execution has no receiver for this
 */
export function crewDelivery(
  execution: CrewExecutionRecord,
  dedupe_key: string,
  news: CrewEventData,
  now: Date,
): DeliveryRecord | null {
  const url = execution.urls[RECEIVER[news.event]];
  if (url === null) return null;
  const told = { execution_id: execution._id, ...news, timestamp: now.toISOString() };
  const members = Object.entries(told).filter(([, value]) => value !== undefined);
  const body = canonicalObject({
    ...Object.fromEntries(members.map(([name, value]) => [name, canonicalJson(tidyJson(value))])),
    // Written already, by its client's own numbers.
    meta: execution.meta ?? 'null',
  });
  const announcement = { _id: newDeliveryId(), org: execution.org, dedupe_key, doc_id: execution._id, now };
  return pendingDelivery({ ...announcement, event_type: news.event, url, message: { url, body } });
}
