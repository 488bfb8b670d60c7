import type * as workflows from '../workflows/index.js';

/** What an operator reads about a workflow in Temporal's UI, on the tab User Metadata: Markdown, without any data. */
export const WORKFLOW_DETAILS: Readonly<Record<keyof typeof workflows, string>> = {
  runAiJobs:
    'Runs an AI job, or quick jobs that arrived together, and stores their callbacks. Failed jobs are in the result, with their messages.',
  removeConnector: 'Deletes what a deleted connector has left: items, files and records.',
  syncConnector:
    'Reads the source of a connector and ingests what has changed. The connector has the failed resources.',
  deleteDatabase: 'Deletes a database with everything in it.',
  provisionDatabase: 'Creates a database; clients can use it afterwards.',
  indexItems:
    'Indexes a small item, or those that arrived together, and stores their webhooks. Errored items are in the result, with their codes.',
  indexLargeItem: 'Indexes a large item and stores its webhook. An item that is errored has its code in the result.',
  clearRemovedItems: 'Deletes chunks, index rows, graph and files of removed items.',
  refreshIndexRows: 'Writes the index rows of an item again after a change of its metadata.',
  startIngestedItems: 'Starts the workflows of the items of a large request.',
  rebuildIndex: 'Embeds chunks for another embedding model beside the index in use, and switches.',
  runCrew: 'Runs the tasks of a crew. While a task waits for a person, the current details say whose, and since when.',
  expireAuthentication: 'Ends a payment authentication that nobody has closed in time.',
  compactSearchIndex: 'Part of the reconciler: compacts the search index of each database.',
  dropAbandonedFiles: 'Part of the reconciler: deletes expired uploads, and files of requests that stored no work.',
  reconcile: 'Part of the reconciler: starts work whose workflow is missing.',
  followBacklog:
    'Shows failed deliveries that wait without workflows of their own. The sender attempts them when they are due.',
  deliverWebhook: 'Attempts a delivery until it has ended. Pending activity: the last failure, and the next attempt.',
  replayDeliveries: 'Queues deliveries again at the pace of their receiver, for a bulk retry.',
};
