/** What Temporal knows the work by. A start is idempotent because the id is the record's. */
export const workflowIds = {
  delivery: (deliveryId: string) => `delivery/${deliveryId}`,
  item: (org: string, database: string, id: string, version: number) =>
    `item/${org}/${database}/${encodeURIComponent(id)}/${version}`,
  indexRows: (org: string, database: string, id: string, version: number) =>
    `index-rows/${org}/${database}/${encodeURIComponent(id)}/${version}`,
  ingest: (org: string, batchId: string) => `ingest/${org}/${batchId}`,
  database: (org: string, databaseId: string) => `database/${org}/${databaseId}`,
  databaseRemoval: (org: string, databaseId: string) => `database-removal/${org}/${databaseId}`,
  removal: (org: string, removalId: string) => `removal/${org}/${removalId}`,
  job: (jobId: string) => `ai-job/${jobId}`,
  crew: (executionId: string) => `crew/${executionId}`,
  /** Temporal appends the time at which the schedule has started it. */
  sync: (org: string, connectorId: string) => `sync/${org}/${connectorId}`,
  connectorRemoval: (org: string, connectorId: string) => `connector-removal/${org}/${connectorId}`,
};
