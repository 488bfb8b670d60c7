import type { DeliveryState, TerminalIndexingStatus } from './states.js';

/** The counters of a worker. */
export interface WorkMetrics {
  /** @param outcome state of the delivery after the attempt */
  deliveryAttempted(outcome: DeliveryState): void;
  itemFinished(status: TerminalIndexingStatus): void;
}
