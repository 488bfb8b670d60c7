import everything from './jest.config.mjs';

/**
 * Left out of `npm run test:fast`: tests that start servers of their own, end processes, let time pass, read scans or
 * sync whole sites. A file that takes more than a few seconds belongs here, unless it is the main test of a service.
 */
const SLOW = [
  'ai-jobs/openai-jobs',
  'ai-jobs/providers-ocr',
  'cli',
  'compose-run',
  'connectors/.*',
  'content/embeddings',
  'content/extraction-files',
  'content/feedback',
  'content/item-changes',
  'content/query-filters',
  'content/scans',
  'content/storage-outage',
  'continue-as-new',
  'crews/models',
  'crews/recovery',
  'crews/waiting',
  'operators',
  'outages',
  'payments/fields',
  'recovery',
  's3-storage',
  'temporal-access',
  'webhooks/delivery-schedule',
  'webhooks/slow-receivers',
];

export default { ...everything, testPathIgnorePatterns: [`/test/(${SLOW.join('|')})\\.test\\.js$`] };
