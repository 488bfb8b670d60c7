import { obtainBinary } from './binaries.js';
import type { Env, Log } from './fetching.js';

/** Path of Temporal's time-skipping test server, for `TestWorkflowEnvironment.createTimeSkipping`. */
export function obtainTestServer(options: { cacheDir: string; env: Env; log: Log }): Promise<string> {
  return obtainBinary('temporal-test-server', options);
}
