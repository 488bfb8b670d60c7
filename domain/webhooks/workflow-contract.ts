export interface DeliveryRef {
  /** `dlv_…` */
  delivery: string;
  org: string;
  /** Tells receivers apart where an organisation has several: a hash, never an address. */
  receiver?: string;
}

/** The signal that cuts the wait for the next attempt short. */
export const RETRY_NOW = 'retryNow';
