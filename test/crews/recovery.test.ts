import { cpSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { connectTemporal } from '../../temporal/connection.js';
import { type CrewClient, createCrewClient } from '../support/crew-client.js';
import { eventually } from '../support/eventually.js';
import { type OpenAiServer, sendCompletion, startOpenAiServer } from '../support/openai-server.js';
import { makeKey, type Product, startProduct, withDb } from '../support/product.js';
import { type Receiver, startReceiver } from '../support/receiver.js';

// Kills processes and changes the crews' files, so it starts its own product.
describe('executions of crews survive', () => {
  const crews = join(mkdtempSync(join(tmpdir(), 'postback-crews-')), 'crews');
  /** Data folders of earlier products. */
  const folders: string[] = [];
  let product: Product;
  let openai: OpenAiServer;
  let receiver: Receiver;
  let research: CrewClient;
  let letter: CrewClient;

  beforeAll(async () => {
    cpSync('test/fixtures/crews', crews, { recursive: true });
    openai = await startOpenAiServer();
    receiver = await startReceiver();
    product = await startProduct(settings());
    await connect();
  });
  afterAll(async () => {
    await product?.remove();
    await Promise.all([openai?.close(), receiver?.close()]);
    for (const folder of [...folders, join(crews, '..')]) rmSync(folder, { recursive: true, force: true });
  });

  const settings = () => ({
    POSTBACK_CREWS_DIR: crews,
    POSTBACK_OPENAI_URL: openai.baseUrl,
    POSTBACK_OPENAI_CHAT_MODEL: 'small',
    POSTBACK_RECONCILE_SECONDS: '2',
  });
  async function connect(): Promise<void> {
    const { key } = await makeKey(product.mongodbUri, 'recovery', 'crew_org');
    research = createCrewClient(product.apiUrl, 'research', key);
    letter = createCrewClient(product.apiUrl, 'letter', key);
  }
  /** Kills API and worker, and waits for an API whose crew has this task. */
  async function killBoth(task: string): Promise<void> {
    for (const pid of [product.api.pid(), product.worker.pid()]) process.kill(pid, 'SIGKILL');
    await eventually(`a crew with ${task}`, async () => {
      const [crew] = (await letter.get('/crews')).body.crews;
      return crew.tasks[0].task_id === task;
    });
  }
  const FACTS = { name: 'Ada', facts: 'The ship leaves at nine. The cat is fed twice a day. Ada has the keys.' };
  const task_id = 'write_letter';

  test('kill -9 of the worker during a model call: finished steps are not repeated', async () => {
    let killed = false;
    openai.respondWith((request, response) => {
      const text = JSON.stringify(request.json().messages);
      if (text.includes('Report on')) {
        if (!killed) {
          killed = true;
          process.kill(product.worker.pid(), 'SIGKILL');
        } else sendCompletion(response, 'The report.');
      } else sendCompletion(response, 'What is known.');
    });
    const id = await research.start({ topic: 'crashes' }, { taskWebhookUrl: receiver.url });
    expect((await research.reaches(id, 'pending_human_input')).tasks).toMatchObject([
      { output: 'What is known.', attempts: 1 },
      { output: 'The report.', attempts: 1 },
    ]);
    expect(
      openai.requests.filter((request) => request.body.toString().includes('Find out about crashes')),
    ).toHaveLength(1);
    // A callback that was being sent when the worker was killed is sent again, with the same delivery id.
    const events = () =>
      new Map(receiver.received.map(({ headers, json }) => [headers['x-service-delivery-id'], json.event]));
    await eventually('both callbacks', () => events().size === 2);
    expect([...events().values()].sort()).toEqual(['task_completed', 'task_pending_human_input']);
  });

  test('kill -9 of API and worker while an execution waits: it continues with the crew as it was at kickoff', async () => {
    const id = await letter.start(FACTS);
    await letter.reaches(id, 'pending_human_input');
    writeFileSync(
      join(crews, 'letter', 'tasks.yaml'),
      'other:\n  description: D\n  expected_output: E\n  agent: writer\n',
    );
    await killBoth('other');
    const human_feedback = 'Tell who has the keys.';
    expect(await letter.resume(id, { task_id, is_approve: false, human_feedback })).toMatchObject({ status: 200 });
    const again = await letter.reaches(id, 'pending_human_input', { task: task_id, count: 2 });
    expect(again.tasks).toHaveLength(1);
    expect(again.tasks[0].output).toContain('Ada has the keys.');
    expect(await letter.resume(id, { task_id, is_approve: true })).toMatchObject({ body: { status: 'completed' } });
    cpSync('test/fixtures/crews', crews, { recursive: true });
    await killBoth(task_id);
  });

  test('a restart of the whole product while an execution waits', async () => {
    const id = await letter.start(FACTS);
    const paused = await letter.reaches(id, 'pending_human_input');
    const { dataDir } = product;
    folders.push(dataDir);
    await product.stop();
    product = await startProduct({ ...settings(), POSTBACK_DATA_DIR: dataDir });
    await connect();
    expect(await letter.status(id)).toMatchObject({ status: 'pending_human_input', tasks: paused.tasks });
    expect(await letter.resume(id, { task_id: paused.current_task, is_approve: true })).toMatchObject({ status: 200 });
    await letter.reaches(id, 'completed');
  });

  test('an API that died between storing the record and starting the workflow: the reconciler starts it', async () => {
    const id = await letter.start(FACTS);
    await letter.reaches(id, 'pending_human_input');
    const orphan = '11111111-2222-4333-8444-555555555555';
    await withDb(product.mongodbUri, async (db) => {
      const executions = db.collection<{ _id: string; tasks: object[] }>('crew_executions');
      const { tasks, ...rest } = (await executions.findOne({ _id: id }))!;
      const fresh = { status: 'pending', attempts: 0, output: null, model: null };
      await executions.insertOne({
        ...rest,
        _id: orphan,
        status: 'running',
        check_at: new Date(),
        tasks: tasks.map((task) => ({ ...task, ...fresh })),
      } as never);
    });
    await letter.reaches(orphan, 'pending_human_input');
  });

  test('feedback that never took effect is ignored and deleted', async () => {
    const id = await letter.start(FACTS);
    await letter.reaches(id, 'pending_human_input');
    const feedback = () =>
      withDb(product.mongodbUri, (db) => db.collection('crew_feedback').find({ execution: id }).toArray());
    // Left by an API that was killed before it sent the feedback to the workflow.
    await withDb(product.mongodbUri, (db) =>
      db.collection<{ _id: string }>('crew_feedback').insertOne({
        _id: 'fbk_lost',
        execution: id,
        task: task_id,
        attempt: 1,
        text: 'Lost.',
        applied_at: null,
        expires_at: null,
      } as never),
    );
    const both = await Promise.all([1, 2].map(() => letter.resume(id, { task_id, is_approve: true })));
    expect(both.map(({ status }) => status).sort()).toEqual([200, 400]);
    await letter.reaches(id, 'completed');
    const remaining = await eventually('the lost feedback deleted', async () => {
      const found = await feedback();
      return found.length === 1 && found[0]!.expires_at !== null && found;
    });
    expect(remaining[0]).toMatchObject({ is_approve: true, applied_at: expect.any(Date) });
    expect(
      await withDb(product.mongodbUri, (db) => db.collection('crew_steps').countDocuments({ execution: id })),
    ).toBe(0);
  });

  test('operators see who an execution waits for and since when, but no content', async () => {
    const temporal = await connectTemporal(product.temporalAddress, 'default');
    try {
      const secrets = { name: 'Ada-Lovelace', facts: 'The ship leaves at nine. The combination is 4711-swordfish.' };
      const taskWebhookUrl = `${receiver.url}?token=swordfish`;
      const id = await letter.start(secrets, { taskWebhookUrl, meta: { case: 'swordfish' } });
      await letter.reaches(id, 'pending_human_input');
      const found = await eventually('the execution found', async () => {
        const query = `PostbackWaitingFor="${task_id}" AND PostbackCrew="letter" AND PostbackWaitingSince > "2020-01-01T00:00:00Z"`;
        for await (const execution of temporal.workflow.list({ query })) {
          if (execution.workflowId === `crew/${id}`) return execution;
        }
        return undefined;
      });
      expect(found.searchAttributes?.PostbackWaitingSince?.[0]).toBeInstanceOf(Date);
      const handle = temporal.workflow.getHandle(`crew/${id}`);
      const details = await handle.query<{ currentDetails: string }>('__temporal_workflow_metadata');
      expect(details.currentDetails).toMatch(
        /^Waiting for a person of \*\*recovery\*\* to review \*\*write_letter\*\*/,
      );
      const human_feedback = 'Leave the swordfish out.';
      await letter.resume(id, { task_id, is_approve: false, human_feedback, taskWebhookUrl });
      await letter.reaches(id, 'pending_human_input', { task: task_id, count: 2 });
      await letter.resume(id, { task_id, is_approve: true, human_feedback });
      await eventually('ended', async () => (await handle.describe()).status.name === 'COMPLETED');
      expect((await handle.describe()).searchAttributes).not.toHaveProperty('PostbackWaitingFor');
      const { events } = await handle.fetchHistory();
      const bytes = JSON.stringify(events, (key, value) =>
        key === 'data' && typeof value === 'string' ? Buffer.from(value, 'base64').toString() : value,
      );
      expect(bytes).toContain('write_letter');
      for (const secret of ['Lovelace', 'The ship', 'swordfish', receiver.url]) expect(bytes).not.toContain(secret);
      for (const event of events!.filter((event) => event.activityTaskScheduledEventAttributes)) {
        expect(event.userMetadata?.summary).toBeTruthy();
      }
    } finally {
      await temporal.connection.close();
    }
  });
});
