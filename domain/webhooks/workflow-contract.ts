/** Input of a delivery's workflow. */
export interface DeliveryRef {
  /** `dlv_…` */
  delivery: string;
  org: string;
  /** `receiverKey` of a callback's URL; never an address. */
  receiver?: string;
}

/** The signal that starts the next attempt at once. */
export const RETRY_NOW = 'retryNow';

/** Input of a lane's workflow. */
export interface LaneRef {
  lane: number;
  /** Attempts of earlier runs of this workflow, since the lane was started. */
  soFar?: LaneCounts;
}

/** Attempts by the state of the delivery afterwards. */
export interface LaneCounts {
  delivered: number;
  failed: number;
  permanently_failed: number;
}

/** Why the sender of a lane has ended. */
export interface LaneProgress extends LaneCounts {
  /** Milliseconds until a delivery of the lane is due; null when there is none. */
  dueInMs: number | null;
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

/** The signal that makes a lane look at its deliveries. */
export const WAKE_LANE = 'wake';
