/** A list of workflows that operators look at. */
export interface OperatorView {
  name: string;
  /** Filter of Temporal's list of workflows. */
  query: string;
  /** What the list shows, for a table. */
  shows: string;
}

const RECONCILER = '"reconcile", "dropAbandonedFiles", "compactSearchIndex"';

/** docs/operators.md has the same filters. */
export const OPERATOR_VIEWS: readonly OperatorView[] = [
  {
    name: 'Work',
    query: `WorkflowType NOT IN (${RECONCILER})`,
    shows: 'all workflows but those of the reconciler',
  },
  {
    name: 'Items in progress',
    query: 'WorkflowType IN ("indexItems", "indexLargeItem") AND ExecutionStatus="Running"',
    shows: 'items and groups of items that are indexed now',
  },
  {
    name: 'Errored items',
    query: 'PostbackOutcome="errored"',
    shows: 'items that could not be indexed, alone or with others',
  },
  {
    name: 'Deliveries that wait',
    query: 'WorkflowType="deliverWebhook" AND ExecutionStatus="Running"',
    shows: 'callbacks that are not delivered yet',
  },
  {
    name: 'Failed deliveries',
    query: 'PostbackOutcome="permanently_failed"',
    shows: 'callbacks that failed for good',
  },
  {
    name: 'Delivery backlogs',
    query: 'WorkflowType="followBacklog" AND ExecutionStatus="Running"',
    shows: 'receivers with more than a thousand failed callbacks',
  },
  { name: 'Failed AI jobs', query: 'PostbackOutcome="fail"', shows: 'jobs that failed' },
  {
    name: 'Crews that wait',
    query: 'PostbackWaitingFor IS NOT NULL',
    shows: 'crews that wait for a person',
  },
  {
    name: 'Syncs in progress',
    query: 'WorkflowType="syncConnector" AND ExecutionStatus="Running"',
    shows: 'connectors that are synced now',
  },
  {
    name: 'Reconciler',
    query: `WorkflowType IN (${RECONCILER})`,
    shows: 'runs that start lost work and clear up',
  },
  {
    name: 'Defects',
    query: 'ExecutionStatus="Failed"',
    shows: 'workflows that failed, which is a bug or a failed run of the reconciler',
  },
];

/**
 * The address of a view in Temporal's UI. The UI stores views in the browser, and adds the one of `savedQuery` when the
 * address is opened.
 * @param ui of the UI, without a path
 */
export function viewUrl(ui: string, namespace: string, { name, query }: OperatorView): string {
  const url = new URL(`${ui.replace(/\/$/, '')}/namespaces/${encodeURIComponent(namespace)}/workflows`);
  url.searchParams.set('query', query);
  url.searchParams.set('savedQuery', name);
  return url.toString();
}
