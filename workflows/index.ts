export { deliverWebhook } from './deliver-webhook.js';
export { indexItem } from './index-item.js';
export { provisionDatabase } from './provision-database.js';
export { startIngestedItems } from './start-ingested-items.js';
export { sweep } from './sweep.js';
