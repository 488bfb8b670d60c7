import { readFileSync } from 'node:fs';
import { afterAll, describe, expect, test } from '@jest/globals';
import { connectTemporal } from '../temporal/connection.js';
import { runCommand } from './support/command.js';
import { createCrewClient } from './support/crew-client.js';
import { eventually } from './support/eventually.js';
import { createJobClient } from './support/job-client.js';
import { listedWorkflows } from './support/listed-workflows.js';
import { clientOf } from './support/organisation.js';
import { makeKey, sharedProduct } from './support/product.js';
import { startReceiver } from './support/receiver.js';

const KEYWORDS = 'text/keyword_extraction/wink';
const GERMAN = { text: 'Der Leuchtturm steht seit vielen Jahren auf der Insel, und niemand weiß, wer ihn gebaut hat.' };

const { apiUrl, mongodbUri, temporalAddress } = sharedProduct();
const org = 'operators';
const temporal = await connectTemporal(temporalAddress, 'default');
const jobs = createJobClient(apiUrl, (await makeKey(mongodbUri, org)).key);
const crew = createCrewClient(apiUrl, 'support-reply', (await makeKey(mongodbUri, org, 'crew_org')).key);
const receiver = await startReceiver();
afterAll(async () => {
  await temporal.connection.close();
  await receiver.close();
});

describe('in the Temporal UI an operator', () => {
  /** Ids of the workflows that the UI lists for this filter, once there are enough. */
  const found = async (filter: string, number = 1) => {
    const query = `PostbackOrganisation="${org}" AND ${filter}`;
    const listed = await listedWorkflows(temporal, query, ({ length }) => length >= number);
    return listed.map(({ workflowId }) => workflowId);
  };
  const detailsOf = async (id: string) =>
    (await temporal.workflow.getHandle(id).query<{ currentDetails: string }>('__temporal_workflow_metadata'))
      .currentDetails;

  test('finds the jobs of a provider, and its failed jobs', async () => {
    const well = (await jobs.finished(await jobs.submit(KEYWORDS, { text: 'The lighthouse has a lamp.' }))).job_id;
    const badly = await jobs.finished(await jobs.submit(KEYWORDS, GERMAN));
    expect(badly.status).toBe('fail');
    expect(await found(`PostbackModel STARTS_WITH "text/" AND PostbackOutcome="fail"`)).toEqual([
      `ai-job/${badly.job_id}`,
    ]);
    const ofProvider = await found(`PostbackModel="${KEYWORDS}" AND ExecutionStatus="Completed"`, 2);
    expect(ofProvider.sort()).toEqual([`ai-job/${well}`, `ai-job/${badly.job_id}`].sort());
  });

  test('reads why a callback is not delivered yet, and finds it when it has failed permanently', async () => {
    // The receiver asks for the longest pauses, and a person ends them.
    let status = 503;
    receiver.respond = () => ({ status, headers: { 'Retry-After': '3600' } });
    const { body } = await jobs.submit(KEYWORDS, GERMAN, { webhook_receiver: receiver.url });
    const [id] = await found(`WorkflowType="deliverWebhook" AND PostbackSource="${body.job_id}"`);
    await eventually('the reason on the waiting activity', async () => {
      const { pendingActivities } = (await temporal.workflow.getHandle(id!).describe()).raw;
      return pendingActivities?.[0]?.lastFailure?.message?.includes('HTTP_503');
    });
    expect(await detailsOf(id!)).toMatch(/^Not delivered yet\./);
    status = 400;
    const { deliveries } = (await jobs.get(`/v3/ai/callbacks?doc_id=${body.job_id}`)).body;
    await eventually('an attempt at once, or the next one in time', async () => {
      const retried = await jobs.request('POST', `/v3/ai/callbacks/${deliveries[0].delivery_id}/retry`);
      return retried.status === 200;
    });
    expect(await found(`PostbackSource="${body.job_id}" AND PostbackOutcome="permanently_failed"`)).toEqual([id]);
    expect(await detailsOf(id!)).toBe('');
  });

  test('distinguishes the webhooks of items with the same id in two databases', async () => {
    receiver.respond = () => ({ status: 204 });
    const api = await clientOf(org);
    await api.post('/webhooks/indexing', { url: receiver.url });
    for (const database of ['north', 'south']) {
      await api.createDatabase(database);
      await api.ingest({ database, memories: '[{"id":"log","text":"The lamp was lit at dusk."}]' });
      const { json } = await receiver.waitFor('the webhook', ({ json }) => json.database === database);
      const webhook = `delivery/${json.delivery_id}`;
      expect(await found(`PostbackDatabase="${database}" AND WorkflowType="deliverWebhook"`)).toEqual([webhook]);
    }
  });

  test('follows the attempts at a task of a crew, and finds the executions that failed', async () => {
    const task_id = 'draft_reply';
    const execution = await crew.start({ customer_message: 'Where is my parcel?', notes: 'Parcels take two days.' });
    const id = `crew/${execution}`;
    await crew.reaches(execution, 'pending_human_input');
    await crew.resume(execution, { task_id, is_approve: false });
    await crew.reaches(execution, 'pending_human_input', { task: task_id, count: 2 });
    await eventually('the wait is shown', async () => (await detailsOf(id)).includes('(attempt 2)'));
    const handle = temporal.workflow.getHandle(id);
    const { events } = await handle.fetchHistory();
    const summaries = events!.flatMap(({ activityTaskScheduledEventAttributes: scheduled, userMetadata }) => {
      const data = userMetadata?.summary?.data;
      return scheduled && data ? [`${scheduled.activityType?.name} ${JSON.parse(Buffer.from(data).toString())}`] : [];
    });
    expect(summaries).toEqual([
      'startTask classify_request',
      'callModel classify_request: step 1',
      'endTask classify_request',
      'startTask draft_reply',
      'callModel draft_reply: step 1',
      'endTask draft_reply',
      'applyResume draft_reply: rejected',
      'startTask draft_reply, attempt 2',
      'callModel draft_reply, attempt 2: step 1',
      'endTask draft_reply, attempt 2',
    ]);
    await handle.cancel();
    expect(await found('PostbackCrew="support-reply" AND PostbackOutcome="error"')).toEqual([id]);
    expect(await detailsOf(id)).toBe('');
  });

  test('sees who an execution waits for and since when, but no content', async () => {
    const task_id = 'draft_reply';
    const customer_message = 'Ada-Lovelace asks when her parcel arrives.';
    const notes = 'The ship leaves at nine. The combination is 4711-swordfish.';
    const taskWebhookUrl = `${receiver.url}?token=swordfish`;
    const execution = await crew.start({ customer_message, notes }, { taskWebhookUrl, meta: { case: 'swordfish' } });
    const id = `crew/${execution}`;
    await crew.reaches(execution, 'pending_human_input');
    const waiting = `PostbackWaitingFor="${task_id}" AND PostbackWaitingSince > "2020-01-01T00:00:00Z"`;
    expect(await found(`PostbackCrew="support-reply" AND ${waiting}`)).toEqual([id]);
    const handle = temporal.workflow.getHandle(id);
    expect((await handle.describe()).searchAttributes.PostbackWaitingSince?.[0]).toBeInstanceOf(Date);
    expect(await detailsOf(id)).toMatch(/^Waiting for a person of \*\*operators\*\* to review \*\*draft_reply\*\*/);
    const human_feedback = 'Leave the swordfish out.';
    await crew.resume(execution, { task_id, is_approve: false, human_feedback, taskWebhookUrl });
    await crew.reaches(execution, 'pending_human_input', { task: task_id, count: 2 });
    await crew.resume(execution, { task_id, is_approve: true, human_feedback });
    await eventually('completed', async () => (await handle.describe()).status.name === 'COMPLETED');
    expect((await handle.describe()).searchAttributes).not.toHaveProperty('PostbackWaitingFor');
    const { events } = await handle.fetchHistory();
    const bytes = JSON.stringify(events, (key, value) =>
      key === 'data' && typeof value === 'string' ? Buffer.from(value, 'base64').toString() : value,
    );
    expect(bytes).toContain(task_id);
    for (const secret of ['Lovelace', 'The ship', 'swordfish', receiver.url]) expect(bytes).not.toContain(secret);
    for (const event of events!.filter((event) => event.activityTaskScheduledEventAttributes)) {
      expect(event.userMetadata?.summary).toBeTruthy();
    }
  });

  test('reads in a summary what each workflow and each activity does', async () => {
    const mine = ['provisionDatabase', 'indexItems', 'deliverWebhook', 'runAiJobs', 'runCrew'];
    const queries = [
      ...mine.map((type) => `PostbackOrganisation="${org}" AND WorkflowType="${type}"`),
      // Tests start others.
      'WorkflowType="reconcile" AND TemporalScheduledById IS NOT NULL',
    ];
    for (const query of queries) {
      const [execution] = await listedWorkflows(temporal, query, ({ length }) => length > 0);
      const { events } = await temporal.workflow.getHandle(execution!.workflowId, execution!.runId).fetchHistory();
      const described = events!.filter(
        (event) => event.workflowExecutionStartedEventAttributes || event.activityTaskScheduledEventAttributes,
      );
      expect(described.length).toBeGreaterThan(0);
      expect([query, described.filter(({ userMetadata }) => !userMetadata?.summary)]).toEqual([query, []]);
      expect([query, Boolean(events![0]!.userMetadata?.details)]).toEqual([query, true]);
    }
  });

  test('gets a link for each list of work, whose filter the server accepts', async () => {
    const env = { TEMPORAL_ADDRESS: temporalAddress, TEMPORAL_NAMESPACE: 'default', POSTBACK_DATA_DIR: '/nowhere' };
    const { code, out } = await runCommand(['operators', 'setup', '--ui', 'http://ui.test:8233/', '--json'], env);
    expect(code).toBe(0);
    const { search_attributes, views } = JSON.parse(out);
    expect(search_attributes).toEqual({ allowed: true, mistyped: [] });
    expect(views.length).toBeGreaterThan(8);
    const page = readFileSync('docs/operators.md', 'utf8');
    for (const { name, query, url } of views) {
      const { pathname, searchParams } = new URL(url);
      expect(pathname).toBe('/namespaces/default/workflows');
      expect([searchParams.get('query'), searchParams.get('savedQuery')]).toEqual([query, name]);
      expect(page).toContain(`\`${query}\``);
      await temporal.workflow.count(query);
    }
    const text = await runCommand(['operators', 'setup'], env);
    expect(text.out).toMatch(/^All 9 search attributes are registered\.\n/);
    expect(text.out).toContain('WorkflowType="followBacklog"');
  });
});
