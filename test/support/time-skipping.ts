import { TestWorkflowEnvironment } from '@temporalio/testing';
import { pino } from 'pino';
import { defaultCacheDir, obtainBinary } from '../../dev-stack/index.js';
import { SEARCH_ATTRIBUTE_TYPES } from '../../domain/search-attributes.js';
import { installTemporalLogger } from '../../worker/logging.js';

/** Temporal's time-skipping server, which passes months in moments, with the product's search attributes. */
export async function startTimeSkipping(): Promise<TestWorkflowEnvironment> {
  installTemporalLogger(pino({ level: 'silent' }));
  const { env } = process;
  const path = await obtainBinary('temporal-test-server', {
    cacheDir: defaultCacheDir(env),
    env,
    log: () => undefined,
  });
  const server = { executable: { type: 'existing-path', path } } as const;
  const skipping = await TestWorkflowEnvironment.createTimeSkipping({ server });
  // This server cannot list its search attributes, so the product's own registration does not work here.
  const types = { KEYWORD: 2, DATETIME: 6 };
  const searchAttributes = Object.entries(SEARCH_ATTRIBUTE_TYPES).map(([name, type]) => [name, types[type]]);
  await skipping.connection.operatorService.addSearchAttributes({
    namespace: 'default',
    searchAttributes: Object.fromEntries(searchAttributes),
  });
  return skipping;
}
