import { isSmall, type SizedSource, workflowUnits } from '../../domain/content/small-items.js';
import { type DatabaseRef, type IngestRef, type RemovalRef, refOf } from '../../domain/content/workflow-contract.js';
import type { ItemRecord } from '../../storage/content/items.js';
import { workflowIds } from '../workflow-ids.js';
import { ownedBy, PRIORITIES, type WorkflowStarter } from '../workflow-starter.js';

/** What starting its workflow needs of an item. */
type StartedItem = SizedSource &
  Pick<ItemRecord, '_id' | 'org' | 'database' | 'database_id' | 'collection' | 'id' | 'version' | 'batch' | 'group'>;

/** An ingest that needs no more workflows than this starts them itself. */
const DIRECT_STARTS = 4;

export type ContentStarters = ReturnType<typeof createContentStarters>;

/** Starts the workflows of items and databases. */
export function createContentStarters({ start, client }: WorkflowStarter) {
  const ownerOf = ({ org, database, collection, id }: StartedItem) => ({ org, database, collection, source: id });
  const isInteractive = createInteractiveQuota();
  const onDatabase = (ref: DatabaseRef, database: string, priorityKey?: number) => ({
    taskQueue: 'control' as const,
    args: [ref] as [DatabaseRef],
    ...ownedBy({ org: ref.org, database }, priorityKey),
  });

  /**
   * Starts the workflow of items that share one: a lone item, or known members of a group.
   * @param priorityKey of the ingest that the items belong to
   */
  async function startItems(items: readonly StartedItem[], priorityKey?: number): Promise<void> {
    const [item] = items as [StartedItem];
    const { org, database, database_id, collection } = item;
    const options = {
      workflowId: workflowIds.item(item),
      taskQueue: 'content',
      staticSummary: `Index ${items.length === 1 ? item.id : `${items.length} items`} into ${database}`,
      ...ownedBy({ org, database, collection, source: items.map(({ id }) => id) }, priorityKey),
    } as const;
    if (!isSmall(item)) return start('indexLargeItem', { ...options, args: [refOf(item)] });
    const versions = items.map(({ _id, version }) => ({ item: _id, version }));
    const files = item.source.kind === 'file' ? ({ files: true } as const) : {};
    await start('indexItems', {
      ...options,
      // A later run has the items that an earlier one has lost; those that have ended are skipped.
      workflowIdReusePolicy: 'ALLOW_DUPLICATE',
      args: [{ org, database_id, items: versions, ...files }],
    });
  }

  return {
    startItems,

    /** Each later change of the same version needs another run. */
    startIndexRows: (item: StartedItem): Promise<void> =>
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
    async startIngest(ref: IngestRef, items: readonly StartedItem[], database: string): Promise<void> {
      const priorityKey = isInteractive(ref.org, items.length) ? PRIORITIES.interactive : PRIORITIES.usual;
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
function createInteractiveQuota(): (org: string, items: number) => boolean {
  const sent = new Map<string, number>();
  let minuteEnds = 0;
  return (org, items) => {
    if (items > MAX_ITEMS) return false;
    if (performance.now() >= minuteEnds) {
      sent.clear();
      minuteEnds = performance.now() + 60_000;
    }
    sent.set(org, (sent.get(org) ?? 0) + items);
    return sent.get(org)! <= PER_MINUTE;
  };
}
