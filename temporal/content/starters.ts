import type { DatabaseRef, IngestRef, ItemRef, RemovalRef } from '../../domain/content/workflow-contract.js';
import { workflowIds } from '../workflow-ids.js';
import { ownedBy, PRIORITIES, type WorkflowStarter } from '../workflow-starter.js';
import { createInteractiveQuota } from './interactive-quota.js';

/** The fields of an item that starting its workflow needs; a subset of `ItemRecord`. */
export interface StartItemInput {
  _id: string;
  org: string;
  database: string;
  database_id: string;
  id: string;
  version: number;
}

export type ContentStarters = ReturnType<typeof createContentStarters>;

/** Starts the workflows of items and databases. */
export function createContentStarters({ start }: WorkflowStarter) {
  const ownerOf = ({ org, database, id }: StartItemInput) => ({ org, database, source: id });
  const interactive = createInteractiveQuota();
  const refOf = ({ _id, version }: StartItemInput): ItemRef => ({ item: _id, version });

  return {
    /** @param priorityKey of the ingest that the item belongs to */
    startItem: (item: StartItemInput, priorityKey?: number): Promise<void> =>
      start('indexItem', {
        workflowId: workflowIds.item(item.org, item.database_id, item.id, item.version),
        taskQueue: 'content',
        args: [refOf(item)],
        staticSummary: `Index ${item.id} into ${item.database}`,
        ...ownedBy(ownerOf(item), priorityKey),
      }),

    /** Each later change of the same version needs another run. */
    startIndexRows: (item: StartItemInput): Promise<void> =>
      start('refreshIndexRows', {
        workflowId: workflowIds.indexRows(item.org, item.database_id, item.id, item.version),
        workflowIdReusePolicy: 'ALLOW_DUPLICATE',
        taskQueue: 'content',
        args: [refOf(item)],
        staticSummary: `Rewrite the index rows of ${item.id}`,
        ...ownedBy(ownerOf(item), PRIORITIES.upkeep),
      }),

    /**
     * A few items go before bulk work of any organisation.
     * @param items number of queued items
     */
    async startIngest(ref: IngestRef, items: number, database: string): Promise<void> {
      const priorityKey = (await interactive.take(ref.org, items)) ? PRIORITIES.interactive : PRIORITIES.usual;
      await start('startIngestedItems', {
        workflowId: workflowIds.ingest(ref.org, ref.batch),
        taskQueue: 'content',
        args: [ref],
        staticSummary: `Start ${items} ${items === 1 ? 'item' : 'items'} for ${database}`,
        ...ownedBy({ org: ref.org, database }, priorityKey),
      });
    },

    startProvisioning: (ref: DatabaseRef, database: string): Promise<void> =>
      start('provisionDatabase', {
        workflowId: workflowIds.database(ref.org, ref.database_id),
        taskQueue: 'control',
        args: [ref],
        staticSummary: `Provision ${database}`,
        ...ownedBy({ org: ref.org, database }, PRIORITIES.interactive),
      }),

    startDatabaseDeletion: (ref: DatabaseRef, database: string): Promise<void> =>
      start('deleteDatabase', {
        workflowId: workflowIds.databaseRemoval(ref.org, ref.database_id),
        taskQueue: 'control',
        args: [ref],
        staticSummary: `Delete ${database}`,
        ...ownedBy({ org: ref.org, database }),
      }),

    /** Clears the remaining data of deleted items. */
    startRemoval: (ref: RemovalRef): Promise<void> =>
      start('clearRemovedItems', {
        workflowId: workflowIds.removal(ref.org, ref.removal),
        taskQueue: 'control',
        args: [ref],
        staticSummary: 'Clear the remaining data of deleted items',
        ...ownedBy({ org: ref.org }, PRIORITIES.upkeep),
      }),
  };
}
