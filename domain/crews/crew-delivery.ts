import { canonicalJson, canonicalObject, tidyJson } from '../canonical-json.js';
import { newDeliveryId } from '../ids.js';
import type { NewDelivery } from '../webhooks/deliveries.js';
import type { CrewEvent } from '../webhooks/events.js';
import type { WebhookUrls } from './crews.js';

/** What happened in an execution, as its callback reports it. */
export interface CrewEventData {
  event: CrewEvent;
  task_id?: string;
  agent?: string;
  /** Text; for a step, what was thought or done. */
  output?: unknown;
  /** Why the execution failed. */
  error?: string;
}

/** What a callback needs to know of an execution; a `CrewExecutionRecord` has all of it. */
export interface NotifyingExecution {
  _id: string;
  org: string;
  urls: WebhookUrls;
  /** JSON, exactly as its client sent it. */
  meta: string | null;
}

const RECEIVER: Record<CrewEvent, keyof WebhookUrls> = {
  task_completed: 'task',
  task_pending_human_input: 'task',
  step: 'step',
  crew_completed: 'crew',
  crew_failed: 'crew',
};

/**
 * The delivery that notifies of an event, its body written once.
 * @returns null when the execution has no receiver for the event
 */
export function crewDelivery(
  { _id: execution_id, org, urls, meta }: NotifyingExecution,
  dedupe_key: string,
  data: CrewEventData,
  now: Date,
): NewDelivery | null {
  const url = urls[RECEIVER[data.event]];
  if (url === null) return null;
  const fields = { execution_id, ...data, timestamp: now.toISOString() };
  const members = Object.entries(fields).filter(([, value]) => value !== undefined);
  const body = canonicalObject({
    ...Object.fromEntries(members.map(([name, value]) => [name, canonicalJson(tidyJson(value))])),
    // Canonical JSON already, with the client's own numbers.
    meta: meta ?? 'null',
  });
  return {
    _id: newDeliveryId(),
    org,
    dedupe_key,
    event_type: data.event,
    doc_id: execution_id,
    url,
    message: { url, body },
    now,
  };
}
