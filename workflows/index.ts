export { runAiJob } from './ai-jobs/run-ai-job.js';
export { removeConnector } from './connectors/remove-connector.js';
export { syncConnector } from './connectors/sync-connector.js';
export { clearRemovedItems } from './content/clear-removed-items.js';
export { deleteDatabase, provisionDatabase } from './content/databases.js';
export { indexItem } from './content/index-item.js';
export { refreshIndexRows } from './content/refresh-index-rows.js';
export { startIngestedItems } from './content/start-ingested-items.js';
export { runCrew } from './crews/run-crew.js';
// Registered under the name that running schedules know.
export { reconcile as sweep } from './reconcile.js';
export { deliverWebhook } from './webhooks/deliver-webhook.js';
