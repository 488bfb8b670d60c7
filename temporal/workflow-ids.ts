import type { AiJobRecord } from '../storage/ai-jobs/job-record.js';
import type { ItemRecord } from '../storage/content/items.js';

/** Workflow ids. They derive from the ids of records, so that a second start of the same work does nothing. */
export const workflowIds = {
  delivery: (deliveryId: string) => `delivery/${deliveryId}`,
  replay: (org: string, replayId: string) => `replay/${org}/${replayId}`,
  backlog: (org: string, event: string) => `delivery-backlog/${org}/${event}`,
  /** Items of one group share a workflow. */
  item: (item: VersionOfItem & Pick<ItemRecord, 'batch' | 'group'>) =>
    item.group === undefined ? `item/${pathOf(item)}` : `items/${item.org}/${item.batch}/${item.group}`,
  indexRows: (item: VersionOfItem) => `index-rows/${pathOf(item)}`,
  ingest: (org: string, batchId: string) => `ingest/${org}/${batchId}`,
  database: (org: string, databaseId: string) => `database/${org}/${databaseId}`,
  databaseRemoval: (org: string, databaseId: string) => `database-removal/${org}/${databaseId}`,
  rebuild: (rebuildId: string) => `index-rebuild/${rebuildId}`,
  removal: (org: string, removalId: string) => `removal/${org}/${removalId}`,
  /** Jobs of one group share a workflow. */
  job: ({ _id, org, group }: Pick<AiJobRecord, '_id' | 'org' | 'group'>) =>
    group === undefined ? `ai-job/${_id}` : `ai-jobs/${org}/${group}`,
  authentication: (authenticationId: string) => `authentication/${authenticationId}`,
  crew: (executionId: string) => `crew/${executionId}`,
  /** Also the id of the connector's schedule; Temporal appends the start time to the workflow id. */
  sync: (org: string, connectorId: string) => `sync/${org}/${connectorId}`,
  connectorRemoval: (org: string, connectorId: string) => `connector-removal/${org}/${connectorId}`,
};

/** One version of an item. The client's id is unique within its collection. */
type VersionOfItem = Pick<ItemRecord, 'org' | 'database_id' | 'collection' | 'id' | 'version'>;

function pathOf({ org, database_id, collection, id, version }: VersionOfItem): string {
  return `${org}/${database_id}/${collection}/${encodeURIComponent(id)}/${version}`;
}
