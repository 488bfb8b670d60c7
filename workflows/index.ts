/** The workflows of the worker's bundle. Their export names are their registered names. */
export { runAiJobs } from './ai-jobs/run-ai-jobs.js';
export { removeConnector, syncConnector } from './connectors/sync-connector.js';
export { deleteDatabase, provisionDatabase } from './content/databases.js';
export { indexItems } from './content/index-items.js';
export { indexLargeItem } from './content/index-large-item.js';
export { clearRemovedItems, refreshIndexRows, startIngestedItems } from './content/item-maintenance.js';
export { rebuildIndex } from './content/rebuild-index.js';
export { runCrew } from './crews/run-crew.js';
export { expireAuthentication } from './payments/expire-authentication.js';
export { compactSearchIndex, dropAbandonedFiles, reconcile } from './reconcile.js';
export { deliverWebhook } from './webhooks/deliver-webhook.js';
export { followBacklog } from './webhooks/follow-backlog.js';
export { replayDeliveries } from './webhooks/replay-deliveries.js';
