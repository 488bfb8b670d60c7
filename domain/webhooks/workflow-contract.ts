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
