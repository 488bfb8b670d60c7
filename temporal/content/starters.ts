import { RateLimiterMemory } from 'rate-limiter-flexible';
import { isSmall, type SizedSource, workflowUnits } from '../../domain/content/small-items.js';
import type { DatabaseRef, IngestRef, ItemRef, RemovalRef } from '../../domain/content/workflow-contract.js';
import { workflowIds } from '../workflow-ids.js';
import { ownedBy, PRIORITIES, type WorkflowStarter } from '../workflow-starter.js';

/** The fields of an item that starting its workflow needs; a subset of `ItemRecord`. */
export interface StartItemInput extends SizedSource {
  _id: string;
  org: string;
  database: string;
  database_id: string;
  collection: string;
  id: string;
  version: number;
  batch: string;
  group?: number | undefined;
}

/** An ingest that needs no more workflows than this starts them itself. */
const DIRECT_STARTS = 4;

export type ContentStarters = ReturnType<typeof createContentStarters>;

/** Starts the workflows of items and databases. */
export function createContentStarters({ start, client }: WorkflowStarter) {
  const ownerOf = ({ org, database, collection, id }: StartItemInput) => ({ org, database, collection, source: id });
  const interactive = createInteractiveQuota();
  const refOf = ({ _id, version, org, database_id }: StartItemInput): ItemRef => ({
    item: _id,
    version,
    org,
    database_id,
  });
  const onDatabase = (ref: DatabaseRef, database: string, priorityKey?: number) => ({
    taskQueue: 'control' as const,
    args: [ref] as [DatabaseRef],
    ...ownedBy({ org: ref.org, database }, priorityKey),
  });
  const isFile = ({ source }: StartItemInput): boolean => source.kind === 'file';

  /** @param priorityKey of the ingest that the item belongs to */
  const startItem = (item: StartItemInput, priorityKey?: number): Promise<void> =>
    start('indexItem', {
      workflowId: workflowIds.item(item),
      taskQueue: 'content',
      args: [{ ...refOf(item), ...(isSmall(item) ? { small: true, ...(isFile(item) ? { file: true } : {}) } : {}) }],
      staticSummary: `Index ${item.id} into ${item.database}`,
      ...ownedBy(ownerOf(item), priorityKey),
    });

  /** @param items one item, or the known members of one group; each gets a workflow, or all get one */
  async function startItems(items: readonly StartItemInput[], priorityKey?: number): Promise<void> {
    const { org, database, collection, batch, group } = items[0]!;
    if (group === undefined) {
      await Promise.all(items.map((item) => startItem(item, priorityKey)));
      return;
    }
    await start('indexItems', {
      workflowId: workflowIds.itemGroup(org, batch, group),
      // The workflow indexes the members that are in progress when it runs. A run with none does nothing.
      workflowIdReusePolicy: 'ALLOW_DUPLICATE',
      taskQueue: 'content',
      args: [{ org, batch, group, ...(isFile(items[0]!) ? { files: true } : {}) }],
      staticSummary: `Index ${items.length} items into ${database}`,
      ...ownedBy({ org, database, collection, source: items.map(({ id }) => id) }, priorityKey),
    });
  }

  return {
    startItem,
    startItems,

    /** Each later change of the same version needs another run. */
    startIndexRows: (item: StartItemInput): Promise<void> =>
      start('refreshIndexRows', {
        workflowId: workflowIds.indexRows(item),
        workflowIdReusePolicy: 'ALLOW_DUPLICATE',
        taskQueue: 'content',
        args: [refOf(item)],
        staticSummary: `Rewrite the index rows of ${item.id}`,
        ...ownedBy(ownerOf(item), PRIORITIES.upkeep),
      }),

    /**
     * Starts the workflows of queued items, or the workflow that starts them. A few items go before bulk work of any
     * organisation.
     */
    async startIngest(ref: IngestRef, items: readonly StartItemInput[], database: string): Promise<void> {
      const priorityKey = (await interactive.take(ref.org, items.length)) ? PRIORITIES.interactive : PRIORITIES.usual;
      const units = workflowUnits(items);
      if (units.length <= DIRECT_STARTS) {
        await Promise.all(units.map((unit) => startItems(unit, priorityKey)));
        return;
      }
      await start('startIngestedItems', {
        workflowId: workflowIds.ingest(ref.org, ref.batch),
        taskQueue: 'content',
        args: [ref],
        staticSummary: `Start ${items.length} items for ${database}`,
        ...ownedBy({ org: ref.org, database }, priorityKey),
      });
    },

    startProvisioning: (ref: DatabaseRef, database: string): Promise<void> =>
      start('provisionDatabase', {
        workflowId: workflowIds.database(ref.org, ref.database_id),
        staticSummary: `Provision ${database}`,
        ...onDatabase(ref, database, PRIORITIES.interactive),
      }),

    startDatabaseDeletion: (ref: DatabaseRef, database: string): Promise<void> =>
      start('deleteDatabase', {
        workflowId: workflowIds.databaseRemoval(ref.org, ref.database_id),
        staticSummary: `Delete ${database}`,
        ...onDatabase(ref, database),
      }),

    /**
     * Starts a rebuild, or the planning of one.
     * @param graceMs how long old indexes stay after the switch
     */
    startRebuild: (rebuildId: string, graceMs?: number): Promise<void> =>
      start('rebuildIndex', {
        workflowId: workflowIds.rebuild(rebuildId),
        taskQueue: 'content',
        args: [{ rebuild: rebuildId, ...(graceMs === undefined ? {} : { grace_ms: graceMs }) }],
        staticSummary: 'Embed the chunks again and switch to the new index',
        priority: { priorityKey: PRIORITIES.upkeep },
      }),

    /** Asks a rebuild to stop. Databases that are not switched yet keep their index. */
    cancelRebuild: async (rebuildId: string): Promise<void> => {
      await client.workflow.getHandle(workflowIds.rebuild(rebuildId)).cancel();
    },

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

/** An ingest of more items is bulk work. */
const MAX_ITEMS = 5;
/** Items that an organisation may send with priority; more is bulk work in small requests, which could delay others. */
const PER_MINUTE = 60;

/** Decides which items are interactive: those of small requests, as long as their organisation sends few of them. */
function createInteractiveQuota() {
  const limiter = new RateLimiterMemory({ points: PER_MINUTE, duration: 60 });
  return {
    async take(org: string, items: number): Promise<boolean> {
      if (items > MAX_ITEMS) return false;
      return limiter.consume(org, items).then(
        () => true,
        () => false,
      );
    },
  };
}
