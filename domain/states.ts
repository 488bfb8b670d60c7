/**
 * The states of items, databases and deliveries, in the specification's words.
 * Types, validation and documentation derive from these lists.
 */

/** Indexing statuses of an item, in the order it passes through them. */
export const INDEXING_STATUSES = ['queued', 'processing', 'graph_creation', 'completed', 'errored'] as const;
export type IndexingStatus = (typeof INDEXING_STATUSES)[number];

export const TERMINAL_INDEXING_STATUSES = ['completed', 'errored'] as const satisfies readonly IndexingStatus[];
export type TerminalIndexingStatus = (typeof TERMINAL_INDEXING_STATUSES)[number];

export const DATABASE_STATUSES = ['provisioning', 'ready', 'deleting'] as const;
export type DatabaseStatus = (typeof DATABASE_STATUSES)[number];

/** States of a delivery: waiting, under way, done, waiting for the next attempt, given up. */
export const DELIVERY_STATES = ['pending', 'sweeping', 'delivered', 'failed', 'permanently_failed'] as const;
export type DeliveryState = (typeof DELIVERY_STATES)[number];

/** The only states a person may put back in the queue (spec: POST …/deliveries/{id}/retry). */
export const RETRYABLE_DELIVERY_STATES = ['failed', 'permanently_failed'] as const satisfies readonly DeliveryState[];

export function isTerminal(status: IndexingStatus): status is TerminalIndexingStatus {
  return (TERMINAL_INDEXING_STATUSES as readonly string[]).includes(status);
}
