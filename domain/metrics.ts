import type { DeliveryState, TerminalIndexingStatus } from './states.js';

/** What the workers count, for whoever watches them. */
export interface WorkMetrics {
  /** One attempt of a delivery and what has become of the delivery by it. */
  deliveryAttempted(outcome: DeliveryState): void;
  itemFinished(status: TerminalIndexingStatus): void;
}
