import type { CallbackEvent } from './events.js';

/** Input of a delivery's workflow. */
export interface DeliveryRef {
  /** `dlv_…` */
  delivery: string;
  org: string;
}

/** The signal that a person has requested a retry. */
export const RETRY_NOW = 'retryNow';

/** Failed deliveries of an organisation and an event that wait without workflows of their own. */
export interface BacklogRef {
  org: string;
  event_type: CallbackEvent;
}

/** Input of the workflow of a bulk retry. */
export interface ReplayRef {
  /** `rpl_…` */
  replay: string;
  org: string;
}

export interface ReplayProgress {
  /** Deliveries requeued since the start of the replay. */
  requeued: number;
  /** Deliveries that matched when the replay was requested. */
  matching: number;
  ended: boolean;
}
