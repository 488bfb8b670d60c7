export { deliverWebhook } from './deliver-webhook.js';
export { indexItem } from './index-item.js';
export { provisionDatabase } from './provision-database.js';
export { runAiJob } from './run-ai-job.js';
export { runCrew } from './run-crew.js';
export { startIngestedItems } from './start-ingested-items.js';
export { sweep } from './sweep.js';
