import type { DatabaseRef, IngestRef, ItemRef, RemovalRef } from '../../domain/content/workflow-contract.js';
import { workflowIds } from '../workflow-ids.js';
import { searchAttributes, type WorkflowStarter } from '../workflow-starter.js';

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
  const itemAttributes = ({ org, database, id }: StartItemInput) => searchAttributes({ org, database, source: id });
  const refOf = ({ _id, version }: StartItemInput): ItemRef => ({ item: _id, version });

  return {
    startItem: (item: StartItemInput): Promise<void> =>
      start('indexItem', {
        workflowId: workflowIds.item(item.org, item.database_id, item.id, item.version),
        taskQueue: 'content',
        args: [refOf(item)],
        staticSummary: `Index ${item.id} into ${item.database}`,
        typedSearchAttributes: itemAttributes(item),
      }),

    /** Each later change of the same version needs another run. */
    startIndexRows: (item: StartItemInput): Promise<void> =>
      start('refreshIndexRows', {
        workflowId: workflowIds.indexRows(item.org, item.database_id, item.id, item.version),
        workflowIdReusePolicy: 'ALLOW_DUPLICATE',
        taskQueue: 'content',
        args: [refOf(item)],
        staticSummary: `Rewrite the index rows of ${item.id}`,
        typedSearchAttributes: itemAttributes(item),
      }),

    /** @param items number of queued items, for the summary */
    startIngest: (ref: IngestRef, items: number, database: string): Promise<void> =>
      start('startIngestedItems', {
        workflowId: workflowIds.ingest(ref.org, ref.batch),
        taskQueue: 'content',
        args: [ref],
        staticSummary: `Start ${items} ${items === 1 ? 'item' : 'items'} for ${database}`,
        typedSearchAttributes: searchAttributes({ org: ref.org, database }),
      }),

    startProvisioning: (ref: DatabaseRef, database: string): Promise<void> =>
      start('provisionDatabase', {
        workflowId: workflowIds.database(ref.org, ref.database_id),
        taskQueue: 'content',
        args: [ref],
        staticSummary: `Provision ${database}`,
        typedSearchAttributes: searchAttributes({ org: ref.org, database }),
      }),

    startDatabaseDeletion: (ref: DatabaseRef, database: string): Promise<void> =>
      start('deleteDatabase', {
        workflowId: workflowIds.databaseRemoval(ref.org, ref.database_id),
        taskQueue: 'content',
        args: [ref],
        staticSummary: `Delete ${database}`,
        typedSearchAttributes: searchAttributes({ org: ref.org, database }),
      }),

    /** Clears the remaining data of deleted items. */
    startRemoval: (ref: RemovalRef): Promise<void> =>
      start('clearRemovedItems', {
        workflowId: workflowIds.removal(ref.org, ref.removal),
        taskQueue: 'content',
        args: [ref],
        staticSummary: 'Clear the remaining data of deleted items',
        typedSearchAttributes: searchAttributes({ org: ref.org }),
      }),
  };
}
