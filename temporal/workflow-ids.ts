/** Workflow ids. They derive from the ids of records, so that a second start of the same work does nothing. */
export const workflowIds = {
  delivery: (deliveryId: string) => `delivery/${deliveryId}`,
  replay: (org: string, replayId: string) => `replay/${org}/${replayId}`,
  backlog: (org: string, event: string) => `delivery-backlog/${org}/${event}`,
  item: (item: VersionOfItem) => `item/${pathOf(item)}`,
  itemGroup: (org: string, batchId: string, group: number) => `items/${org}/${batchId}/${group}`,
  indexRows: (item: VersionOfItem) => `index-rows/${pathOf(item)}`,
  ingest: (org: string, batchId: string) => `ingest/${org}/${batchId}`,
  database: (org: string, databaseId: string) => `database/${org}/${databaseId}`,
  databaseRemoval: (org: string, databaseId: string) => `database-removal/${org}/${databaseId}`,
  rebuild: (rebuildId: string) => `index-rebuild/${rebuildId}`,
  removal: (org: string, removalId: string) => `removal/${org}/${removalId}`,
  job: (jobId: string) => `ai-job/${jobId}`,
  jobGroup: (org: string, group: string) => `ai-jobs/${org}/${group}`,
  authentication: (authenticationId: string) => `authentication/${authenticationId}`,
  crew: (executionId: string) => `crew/${executionId}`,
  /** Also the id of the connector's schedule; Temporal appends the start time to the workflow id. */
  sync: (org: string, connectorId: string) => `sync/${org}/${connectorId}`,
  connectorRemoval: (org: string, connectorId: string) => `connector-removal/${org}/${connectorId}`,
};

/** One version of an item. The client's id is unique within its collection. */
interface VersionOfItem {
  org: string;
  database_id: string;
  collection: string;
  id: string;
  version: number;
}

function pathOf({ org, database_id, collection, id, version }: VersionOfItem): string {
  return `${org}/${database_id}/${collection}/${encodeURIComponent(id)}/${version}`;
}
