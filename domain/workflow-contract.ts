/** How much quiet work of each kind a sweep has looked after. */
export interface ReconcileReport {
  items: number;
  jobs: number;
  crews: number;
  deliveries: number;
  databases: number;
  removals: number;
  /** Connectors whose schedule or removal was not set in motion. */
  connectors?: number;
  /** Items whose index rows are behind. */
  index_rows?: number;
}
