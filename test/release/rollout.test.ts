import { beforeAll, describe, expect, test } from '@jest/globals';
import { msToTs } from '@temporalio/common/lib/time.js';
import proto from '@temporalio/proto';
import { workflowBuildId } from '../../worker/bundle.js';
import { runCommand } from '../support/command.js';
import {
  clientDuringTests,
  processesDuringTests,
  receiverDuringTests,
  temporalDuringTests,
} from '../support/during-tests.js';
import { eventually, PATIENCE_MS } from '../support/eventually.js';
import { sharedProduct } from '../support/product.js';

const NAMESPACE = 'rollout';

// Workers with versions, over the shared servers.
describe('a rollout', () => {
  const { temporalAddress } = sharedProduct();
  const product = processesDuringTests(NAMESPACE, () => ({
    POSTBACK_WORKER_VERSIONING: 'on',
    POSTBACK_EMBEDDINGS: 'off',
  }));
  const temporal = temporalDuringTests(NAMESPACE);
  const api = clientDuringTests('rollout', product);
  const receiver = receiverDuringTests(api);
  /** The workflow id of a delivery that waits for its next attempt. */
  let waiting: string;
  beforeAll(async () => {
    receiver.respond = () => ({ status: 500 });
    await api.createDatabase('shelf');
    await api.ingest({ database: 'shelf', memories: JSON.stringify([{ id: 'note', text: 'The lamp burns.' }]) });
    const { json } = await receiver.waitFor('the webhook', () => true);
    waiting = `delivery/${json.delivery_id}`;
  });

  const postback = (...args: string[]) =>
    runCommand(args, {
      ...(product.env as Record<string, string>),
      TEMPORAL_ADDRESS: temporalAddress,
      TEMPORAL_NAMESPACE: NAMESPACE,
    });

  test('gives the work to the workers of the current version, and lets open executions follow it', async () => {
    // Known when the first workflow task has ended, which contains the first attempt.
    const versioningInfo = await eventually('a version', async () => {
      const { raw } = await temporal.workflow.getHandle(waiting).describe();
      const info = raw.workflowExecutionInfo!.versioningInfo;
      return info?.deploymentVersion && info;
    });
    const version = { deploymentName: 'postback', buildId: workflowBuildId() };
    expect(versioningInfo.deploymentVersion).toMatchObject(version);
    const AUTO_UPGRADE = 2;
    expect(versioningInfo.behavior).toBe(AUTO_UPGRADE);
    expect(await postback('worker', 'promote')).toMatchObject({ code: 0 });
  });

  test('is safe when all open executions replay on the new code', async () => {
    await eventually('the open execution listed', async () => {
      const { code, out } = await postback('replay-open');
      expect({ code, out }).toMatchObject({ code: 0, out: expect.stringContaining('0 would break') });
      return /^[1-9]/.test(out);
    });
  });

  test('has nothing to replay of an execution that starts later', async () => {
    const workflowId = 'authentication/later';
    const later = { taskQueue: 'other-code', workflowId, args: [], startDelay: '1 day' } as const;
    const handle = await temporal.workflow.start('expireAuthentication', later);
    await eventually('the execution listed', async () => {
      for await (const listed of temporal.workflow.list({ query: `WorkflowId="${workflowId}"` })) return listed;
      return undefined;
    });
    expect(await postback('replay-open')).toMatchObject({ code: 0, out: expect.stringContaining('0 would break') });
    await handle.terminate();
  });

  /** The first step of a workflow, as other code than that of the product takes it. */
  async function startTimer(taskQueue: string): Promise<void> {
    const { connection, workflowService } = temporal;
    const name = { namespace: NAMESPACE, identity: 'other code' };
    const { taskToken } = await connection.withDeadline(Date.now() + PATIENCE_MS, () =>
      workflowService.pollWorkflowTaskQueue({ ...name, taskQueue: { name: taskQueue } }),
    );
    const commandType = proto.temporal.api.enums.v1.CommandType.COMMAND_TYPE_START_TIMER;
    const startTimerCommandAttributes = { timerId: '1', startToFireTimeout: msToTs('1 day') };
    const commands = [{ commandType, startTimerCommandAttributes }];
    await workflowService.respondWorkflowTaskCompleted({ ...name, taskToken, commands });
  }

  test('is stopped by the exit code when an open execution would break, and its id is listed', async () => {
    const handle = await temporal.workflow.start('deliverWebhook', {
      taskQueue: 'other-code',
      workflowId: 'delivery/of-other-code',
      args: [],
    });
    await startTimer('other-code');
    const checked = await eventually('the broken execution listed', async () => {
      const result = await postback('replay-open');
      return result.code === 1 && result;
    });
    expect(checked.out).toMatch(/^\d+ open executions replayed, 1 would break\.\ndelivery\/of-other-code \(run /);
    expect(checked.out).not.toContain(waiting);
    await handle.terminate();
  });
});
