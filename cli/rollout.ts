import type { Client } from '@temporalio/client';
import type { History } from '@temporalio/common/lib/proto-utils.js';
import { Worker } from '@temporalio/worker';
import { createLogger } from '../runtime/logger.js';
import { dataConverterOf } from '../temporal/payload-codec.js';
import { promoteVersion } from '../temporal/worker-deployment.js';
import { workflowBuildId, workflowBundle } from '../worker/bundle.js';
import { installTemporalLogger } from '../worker/logging.js';
import { withTemporal } from './connections.js';
import { runningSettings } from './data-folder.js';
import { print } from './remote/output.js';

/** How long the workers of a new version have to start. */
const PROMOTE_WAIT_MS = 5 * 60_000;

/** `postback worker promote` */
export async function promote(options: { json?: boolean }): Promise<void> {
  const version = await promoteWorkers();
  print(options, { version }, () => 'The version of this release is the current version of the workers.');
}

/**
 * Makes the version of this code the current version of the workers.
 * @returns the id of the version
 * @throws Error when no workers of this version run
 */
export async function promoteWorkers(config = runningSettings(process.env)): Promise<string> {
  const build = workflowBuildId();
  await withTemporal(config, (client) => promoteVersion(client, build, PROMOTE_WAIT_MS));
  return build;
}

/**
 * `postback replay-open`: replays the histories of all open executions on the workflow code of this release, and lists
 * those that it would break. Sets the exit code 1 when there are any.
 */
export async function replayOpenExecutions(output: { json?: boolean }): Promise<void> {
  installTemporalLogger(createLogger('silent', 'replay'));
  const config = runningSettings(process.env);
  let replayed = 0;
  const broken: { workflow_id: string; run_id: string; error: string }[] = [];
  await withTemporal(config, async (client) => {
    const dataConverter = dataConverterOf(config.POSTBACK_TEMPORAL_CODEC_KEYS);
    const options = { workflowBundle: await workflowBundle(), dataConverter };
    for await (const result of Worker.runReplayHistories(options, openHistories(client))) {
      replayed += 1;
      const { workflowId, runId, error } = result;
      if (error) broken.push({ workflow_id: workflowId, run_id: runId, error: error.message.split('\n')[0]! });
    }
  });
  print(output, { replayed, broken }, () => {
    const executions = replayed === 1 ? 'execution' : 'executions';
    const lines = broken.map(({ workflow_id, run_id, error }) => `${workflow_id} (run ${run_id}): ${error}`);
    return [`${replayed} open ${executions} replayed, ${broken.length} would break.`, ...lines].join('\n');
  });
  if (broken.length > 0) process.exitCode = 1;
}

/**
 * Histories are downloaded one at a time, because there can be many. An execution whose first workflow task has not ended has
 * nothing to compare, and the replay would wait without end for a task of one that starts with a delay (authentications).
 */
async function* openHistories(client: Client): AsyncGenerator<{ workflowId: string; history: History }> {
  for await (const { workflowId, runId } of client.workflow.list({ query: 'ExecutionStatus="Running"' })) {
    const history = await client.workflow.getHandle(workflowId, runId).fetchHistory();
    if (history.events?.some((event) => event.workflowTaskCompletedEventAttributes)) yield { workflowId, history };
  }
}
