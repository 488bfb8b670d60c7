import { createHmac } from 'node:crypto';
import { beforeEach, describe, expect, test } from '@jest/globals';
import { verifyCrewCallback } from '../../receiver/index.js';
import { createCrewClient } from '../support/crew-client.js';
import { crewDuringTests, receiverDuringTests } from '../support/during-tests.js';
import { eventually } from '../support/eventually.js';
import { clientOf } from '../support/organisation.js';
import { makeKey, sharedProduct, withDb } from '../support/product.js';
import { type Received, startReceiver } from '../support/receiver.js';

const INPUTS = { customer_message: 'Where is my parcel?', notes: 'Parcels arrive after two or three working days.' };
const TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/;

describe('callbacks of crews', () => {
  const { apiUrl, mongodbUri } = sharedProduct();
  const receiver = receiverDuringTests();
  const crew = crewDuringTests('crew-callbacks');
  beforeEach(() => {
    receiver.respond = () => ({ status: 204 });
  });

  const parseCrew = async (org: string) =>
    createCrewClient(apiUrl, 'support-reply', (await makeKey(mongodbUri, org, 'crew_org')).key);
  const urls = (name: string) => ({
    taskWebhookUrl: `${receiver.url}/${name}/task`,
    stepWebhookUrl: `${receiver.url}/${name}/step`,
    crewWebhookUrl: `${receiver.url}/${name}/crew`,
  });
  const callbacksOf = (id: string) => receiver.received.filter(({ json }) => json.execution_id === id);
  const summary = ({ path, json }: Received) => [
    path.replace('/hook', ''),
    json.event,
    ...(json.task_id ? [json.task_id] : []),
  ];
  const arrived = (id: string, count: number) =>
    eventually(`${count} callbacks`, () =>
      callbacksOf(id).length >= count ? callbacksOf(id).map(summary).sort() : undefined,
    );
  const deliveries = (id: string) =>
    withDb(mongodbUri, (db) => db.collection('deliveries').find({ doc_id: id }).toArray());

  test('callbacks go to the URL for their event, and after a resume to the URLs of the resume', async () => {
    const meta = { ticket: 17, $nested: { 'a.b': [1] } };
    const id = await crew.start(INPUTS, { ...urls('kickoff'), meta });
    const paused = await crew.reaches(id, 'pending_human_input');
    expect(await arrived(id, 4)).toEqual([
      ['/kickoff/step', 'step', 'classify_request'],
      ['/kickoff/step', 'step', 'draft_reply'],
      ['/kickoff/task', 'task_completed', 'classify_request'],
      ['/kickoff/task', 'task_pending_human_input', 'draft_reply'],
    ]);
    await crew.resume(id, { task_id: 'draft_reply', is_approve: true, ...urls('resume') });
    const { result } = await crew.reaches(id, 'completed');
    expect((await arrived(id, 8)).slice(4)).toEqual([
      ['/resume/crew', 'crew_completed'],
      ['/resume/step', 'step', 'final_reply'],
      ['/resume/task', 'task_completed', 'draft_reply'],
      ['/resume/task', 'task_completed', 'final_reply'],
    ]);
    const sent = (event: string, task?: string) =>
      callbacksOf(id).find(({ json }) => json.event === event && json.task_id === task)!;
    expect(sent('task_pending_human_input', 'draft_reply').json).toEqual({
      event: 'task_pending_human_input',
      execution_id: id,
      sequence: 4,
      task_id: 'draft_reply',
      agent: 'reply_writer',
      output: paused.tasks[1].output,
      review_url: paused.review_url,
      meta,
      timestamp: expect.stringMatching(TIME),
    });
    expect(sent('crew_completed').json).toEqual({
      event: 'crew_completed',
      execution_id: id,
      sequence: 8,
      output: result,
      meta,
      timestamp: expect.stringMatching(TIME),
    });
    expect(sent('step', 'classify_request').json.output).toEqual({ type: 'thought', text: 'delivery' });
    const ordered = callbacksOf(id).sort((a, b) => Number(a.json.sequence) - Number(b.json.sequence));
    expect(ordered.map(({ json }) => json.sequence)).toEqual([1, 2, 3, 4, 5, 6, 7, 8]);
    expect(ordered.map(({ json }) => json.timestamp)).toEqual(ordered.map(({ json }) => json.timestamp).sort());
    // The receiver gets a callback before its response is recorded.
    await eventually('all recorded', async () => {
      const found = await deliveries(id);
      return found.length === 8 && found.every(({ status }) => status === 'delivered');
    });
  });

  test('callbacks carry the headers of the kickoff, and after a resume only to the same origins', async () => {
    const headersOf = (id: string, event: string) =>
      callbacksOf(id).find(({ json }) => json.event === event)!.headers.authorization;
    const webhookHeaders = { Authorization: 'Bearer of the gateway' };
    const start = async (name: string) => {
      const id = await crew.start(INPUTS, { ...urls(name), webhookHeaders });
      await crew.reaches(id, 'pending_human_input');
      await arrived(id, 4);
      return id;
    };
    const id = await start('headers');
    expect(headersOf(id, 'task_pending_human_input')).toBe('Bearer of the gateway');
    expect((await crew.status(id)).webhookHeaderNames).toEqual(['Authorization']);
    expect(JSON.stringify(await deliveries(id))).not.toContain('gateway');
    await crew.resume(id, { task_id: 'draft_reply', is_approve: true, ...urls('headers-resumed') });
    await arrived(id, 8);
    expect(headersOf(id, 'crew_completed')).toBe('Bearer of the gateway');

    const other = await start('headers-other');
    const elsewhere = await startReceiver();
    const crewWebhookUrl = elsewhere.url;
    await crew.resume(other, { task_id: 'draft_reply', is_approve: true, crewWebhookUrl });
    const request = await elsewhere.waitFor('the end', ({ json }) => json.event === 'crew_completed');
    expect(request.headers.authorization).toBeUndefined();
    await elsewhere.close();
    const kickoff = await crew.kickoff({ inputs: INPUTS, webhookHeaders: { Host: 'internal' } });
    expect(kickoff).toMatchObject({ status: 400, body: { message: expect.stringContaining('webhookHeaders.Host') } });
  });

  test('meta is sent back exactly as it was sent', async () => {
    const meta = '{"order":12345678901234567890,"price":1.0,"a":{"ü":"\\ud83d\\ude00","__proto__":[]}}';
    const { taskWebhookUrl } = urls('exact');
    const body = `{"inputs":${JSON.stringify(INPUTS)},"meta":${meta},"taskWebhookUrl":"${taskWebhookUrl}"}`;
    const { kickoff_id } = (await crew.kickoff(body)).body;
    await arrived(kickoff_id, 2);
    for (const { body, json } of callbacksOf(kickoff_id)) {
      expect(json.meta).toEqual(JSON.parse(meta));
      expect(body.toString()).toContain('"order": 12345678901234567890');
      expect(body.toString()).toContain('"price": 1.0');
    }
  });

  test('a resume ends the callbacks for which it has no URL', async () => {
    const silent = await crew.start(INPUTS, urls('silent'));
    await crew.reaches(silent, 'pending_human_input');
    // Whoever decides sees what would end, and is told what has ended.
    expect((await crew.request('GET', `/crews/support-reply/${silent}/status`)).body).toMatchObject(urls('silent'));
    const { waiting } = (await crew.request('GET', '/crews/waiting')).body as { waiting: { execution_id: string }[] };
    expect(waiting.find(({ execution_id }) => execution_id === silent)).toMatchObject(urls('silent'));
    const { body } = await crew.resume(silent, { task_id: 'draft_reply', is_approve: true });
    expect(body).toMatchObject({ warning: expect.stringContaining('taskWebhookUrl, stepWebhookUrl, crewWebhookUrl') });
    await crew.reaches(silent, 'completed');
    expect(await deliveries(silent)).toHaveLength(4);

    const some = await crew.start(INPUTS, urls('some'));
    await crew.reaches(some, 'pending_human_input');
    const { crewWebhookUrl } = urls('later');
    const partly = await crew.resume(some, { task_id: 'draft_reply', is_approve: false, crewWebhookUrl });
    expect(partly.body).not.toHaveProperty('warning');
    await crew.reaches(some, 'pending_human_input', { task: 'draft_reply', count: 2 });
    expect(await deliveries(some)).toHaveLength(4);
    await crew.resume(some, { task_id: 'draft_reply', is_approve: true, crewWebhookUrl });
    await crew.reaches(some, 'completed');
    expect((await arrived(some, 5)).at(-1)).toEqual(['/some/task', 'task_pending_human_input', 'draft_reply']);
    expect(callbacksOf(some).filter(({ path }) => path.includes('/later/'))).toHaveLength(1);
  });

  test('4xx and 5xx are retried with the same bytes, by the schedule of many hours; 410 is final', async () => {
    receiver.respond = ({ json }) => {
      const tries = callbacksOf(String(json.execution_id)).filter(
        (callback) => callback.json.event === json.event,
      ).length;
      if (json.event === 'task_pending_human_input') return { status: tries === 1 ? 404 : 200 };
      return { status: 410 };
    };
    const { taskWebhookUrl } = urls('retried');
    const id = await crew.start(INPUTS, { taskWebhookUrl });
    await crew.reaches(id, 'pending_human_input');
    const ended = await eventually('both ended', async () => {
      const found = await deliveries(id);
      return (
        found.length === 2 && found.every(({ status }) => !['pending', 'sweeping', 'failed'].includes(status)) && found
      );
    });
    expect(
      Object.fromEntries(ended.map(({ event_type, status, attempts }) => [event_type, [status, attempts]])),
    ).toEqual({
      task_completed: ['permanently_failed', 1],
      task_pending_human_input: ['delivered', 2],
    });
    const [first, second] = callbacksOf(id).filter(({ json }) => json.event === 'task_pending_human_input');
    expect(second!.body.equals(first!.body)).toBe(true);
    expect(second!.headers['x-service-delivery-id']).toBe(first!.headers['x-service-delivery-id']);
  });

  test('callbacks are signed when the organisation has a secret for crews', async () => {
    const org = 'crew-signed';
    const signed = await parseCrew(org);
    const { taskWebhookUrl } = urls('signed');
    const unsigned = await signed.start(INPUTS, { taskWebhookUrl });
    await arrived(unsigned, 2);
    for (const { headers } of callbacksOf(unsigned)) expect(headers).not.toHaveProperty('x-service-signature');
    const secret = 'a secret of sixteen or more';
    await signed.request('POST', '/crews/signing-secret', { signing_secret: secret });
    const id = await signed.start(INPUTS, { taskWebhookUrl });
    await arrived(id, 2);
    for (const { body, headers, json } of callbacksOf(id)) {
      expect(headers).toMatchObject({
        'content-type': 'application/json',
        'x-service-delivery-id': expect.stringMatching(/^dlv_/),
        'x-service-event': json.event,
      });
      const digest = createHmac('sha256', secret).update(body).digest('hex');
      expect(headers['x-service-signature']).toBe(`sha256=${digest}`);
      expect(verifyCrewCallback(body, headers, secret)).toEqual(json);
    }
  });

  test('callbacks are listed, read and retried, by crew', async () => {
    receiver.respond = ({ json }) => ({ status: json.event === 'task_completed' ? 410 : 204 });
    const own = await parseCrew('crew-callbacks-listed');
    const id = await own.start(INPUTS, { taskWebhookUrl: urls('listed').taskWebhookUrl });
    const list = async (query = '') => (await own.get(`/crews/support-reply/callbacks${query}`)).body.deliveries;
    const failed = await eventually('both ended', async () => {
      const all = await list(`?doc_id=${id}`);
      const ended = all.filter(({ status }: { status: string }) =>
        ['delivered', 'permanently_failed'].includes(status),
      );
      return ended.length === 2 && all.find(({ status }: { status: string }) => status === 'permanently_failed');
    });
    expect(failed).toMatchObject({ event_type: 'task_completed', doc_id: id, attempts: 1 });
    expect(await list('?status=delivered')).toMatchObject([{ event_type: 'task_pending_human_input' }]);
    const path = `/crews/support-reply/callbacks/${failed.delivery_id}`;
    expect((await own.get(path)).body).toMatchObject({ attempt_log: [{ status_code: 410 }] });
    expect((await own.get(path.replace('support-reply', 'document-brief'))).status).toBe(404);
    expect((await crew.get(path)).status).toBe(404);
    receiver.respond = () => ({ status: 204 });
    expect((await own.request('POST', `${path}/retry`, {})).body).toMatchObject({ queued: true });
    await eventually('delivered', async () => (await own.get(path)).body.status === 'delivered');
    expect((await own.request('POST', `${path}/retry`, {})).status).toBe(409);
    const { key } = await makeKey(mongodbUri, 'crew-callbacks-listed', 'crew_user');
    expect((await createCrewClient(apiUrl, 'support-reply', key).get('/crews/support-reply/callbacks')).status).toBe(
      403,
    );
  });

  test('callbacks are not listed with the deliveries of the content service', async () => {
    const id = await crew.start(INPUTS, { taskWebhookUrl: urls('apart').taskWebhookUrl });
    await arrived(id, 2);
    const api = await clientOf('crew-callbacks');
    expect((await api.get('/webhooks/indexing/deliveries')).body.data.deliveries).toEqual([]);
  });
});
