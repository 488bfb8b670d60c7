import { canonicalJsonOfAny, canonicalObject } from '../../domain/canonical-json.js';
import type { ExecutionErrorCode, WebhookUrls } from '../../domain/crews/crews.js';
import { newDeliveryId } from '../../domain/ids.js';
import type { CrewEvent } from '../../domain/webhooks/events.js';
import type { CrewExecutionRecord } from '../../storage/crews/execution-record.js';
import type { NewDelivery } from '../../storage/webhooks/new-delivery.js';

/** An event of an execution, as its callback reports it. */
export interface CrewEventData {
  event: CrewEvent;
  task_id?: string;
  agent?: string;
  /** A text; for a step, the thought or the action. */
  output?: unknown;
  /** When a decision on the output is due. */
  deadline?: string;
  /** Where a person without a key decides on the output. */
  review_url?: string | undefined;
  /** Set for a reminder: the client was notified before. */
  reminder?: true;
  /** Why the execution failed. */
  error?: string;
  error_code?: ExecutionErrorCode;
}

const RECEIVER: Record<CrewEvent, keyof WebhookUrls> = {
  task_completed: 'task',
  task_pending_human_input: 'task',
  step: 'step',
  crew_completed: 'crew',
  crew_failed: 'crew',
};

/**
 * The delivery for an event. Its body is built once, so all attempts send the same bytes.
 * @returns null when the execution has no receiver for the event
 */
export function crewDelivery(
  { _id: execution_id, org, crew, urls, headers, meta, sequence }: CrewExecutionRecord,
  dedupe_key: string,
  data: CrewEventData,
  now: Date,
): NewDelivery | null {
  const url = urls[RECEIVER[data.event]];
  if (url === null) return null;
  const fields = { execution_id, sequence, ...data, timestamp: now.toISOString() };
  const members = Object.entries(fields).filter(([, value]) => value !== undefined);
  const body = canonicalObject({
    ...Object.fromEntries(members.map(([name, value]) => [name, canonicalJsonOfAny(value)])),
    // Already canonical JSON, which keeps the client's numbers.
    meta: meta ?? 'null',
  });
  return {
    _id: newDeliveryId(now),
    org,
    dedupe_key,
    event_type: data.event,
    doc_id: execution_id,
    crew,
    url,
    message: { url, body, ...(headers ? { headers } : {}) },
    now,
  };
}
