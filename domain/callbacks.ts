import { sha256Hex } from './ids.js';

/** What the executions of crews announce. */
export const CREW_EVENTS = [
  'task_completed',
  'task_pending_human_input',
  'step',
  'crew_completed',
  'crew_failed',
] as const;
export type CrewEvent = (typeof CREW_EVENTS)[number];

/** What Postback announces, whoever receives it. Each event is delivered by the same workflow, under its own rules. */
export const CALLBACK_EVENTS = ['indexing.status_changed', 'async_job_completed', ...CREW_EVENTS] as const;
export type CallbackEvent = (typeof CALLBACK_EVENTS)[number];

/**
 * Names the receiver behind an address where an organisation may have many, so that one that hangs is told apart from
 * the others, and from other organisations' at the same place. A hash, because it may be read where addresses may not.
 */
export function receiverKey(org: string, url: string): string {
  return sha256Hex(`${org} ${new URL(url).origin}`).slice(0, 16);
}
