/**
 * The states of items, databases and deliveries, in the specification's words.
 * Types, validation and documentation derive from these lists.
 */

/** Indexing statuses of an item, in order. The last two are final. */
export const INDEXING_STATUSES = ['queued', 'processing', 'graph_creation', 'completed', 'errored'] as const;
export type IndexingStatus = (typeof INDEXING_STATUSES)[number];

export const TERMINAL_INDEXING_STATUSES = ['completed', 'errored'] as const satisfies readonly IndexingStatus[];
export type TerminalIndexingStatus = (typeof TERMINAL_INDEXING_STATUSES)[number];

export const DATABASE_STATUSES = ['provisioning', 'ready', 'deleting'] as const;
export type DatabaseStatus = (typeof DATABASE_STATUSES)[number];

/**
 * States of a delivery. `sweeping`: an attempt is in progress (unrelated to the workflow `sweep`, the reconciler);
 * `failed`: waiting for the next attempt.
 */
export const DELIVERY_STATES = ['pending', 'sweeping', 'delivered', 'failed', 'permanently_failed'] as const;
export type DeliveryState = (typeof DELIVERY_STATES)[number];

/** The states from which a client may requeue a delivery (specification, `POST …/deliveries/{id}/retry`). */
export const RETRYABLE_DELIVERY_STATES = ['failed', 'permanently_failed'] as const satisfies readonly DeliveryState[];

/** Whether an item with this status is finished. */
export function isTerminal(status: IndexingStatus): status is TerminalIndexingStatus {
  return (TERMINAL_INDEXING_STATUSES as readonly string[]).includes(status);
}
