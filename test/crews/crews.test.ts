import { readFileSync } from 'node:fs';
import { beforeAll, describe, expect, test } from '@jest/globals';
import { SCOPES } from '../../domain/api-keys.js';
import { type CrewClient, createCrewClient } from '../support/crew-client.js';
import { crewDuringTests } from '../support/during-tests.js';
import { eventually } from '../support/eventually.js';
import { clientOf } from '../support/organisation.js';
import { makeKey, sharedProduct, withDb } from '../support/product.js';

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;
const STAND_IN = 'built-in (extractive stand-in)';

const SUPPORT = {
  customer_message: 'Hello, I was charged twice for order 1182 last week. Can I get my money back?',
  notes: readFileSync('test/fixtures/support-notes.txt', 'utf8'),
};
const DOUBLE_CHARGE = 'If a customer was charged twice, we refund the second charge in full.';
const PHONE_LINE = 'Our phone line is open on weekdays from nine to five.';

describe('crews', () => {
  const { apiUrl, mongodbUri } = sharedProduct();
  const crew = crewDuringTests('crews');
  const user = crewDuringTests('crews', 'crew_user');

  test('the deployed crews and their inputs are listed', async () => {
    const { crews } = (await crew.get('/crews')).body;
    expect(crews.map(({ name }: { name: string }) => name)).toEqual(['document-brief', 'support-reply']);
    expect(crews[1]).toMatchObject({
      base_path: '/crews/support-reply',
      inputs: ['customer_message', 'notes'],
      tasks: [
        { task_id: 'classify_request', agent: 'support_clerk', human_input: false, context: [] },
        { task_id: 'draft_reply', agent: 'reply_writer', human_input: true, context: ['classify_request'] },
        { task_id: 'final_reply', human_input: false, context: ['draft_reply'], async_execution: false },
      ],
      agents: [
        { name: 'support_clerk', tools: [], model: STAND_IN },
        { name: 'reply_writer', tools: [], model: STAND_IN },
      ],
    });
    expect((await user.get('/crews/support-reply/inputs')).body).toEqual({ inputs: ['customer_message', 'notes'] });
  });

  test('an execution pauses for human input, and continues when it is approved', async () => {
    const { status, body } = await crew.kickoff({ inputs: SUPPORT });
    expect([status, body]).toEqual([200, { kickoff_id: expect.stringMatching(UUID), execution_id: body.kickoff_id }]);
    const id = body.kickoff_id;
    const paused = await crew.reaches(id, 'pending_human_input');
    expect(paused).toEqual({
      kickoff_id: id,
      execution_id: id,
      review_url: expect.stringMatching(/\/review#[\w.-]+$/),
      status: 'pending_human_input',
      current_task: 'draft_reply',
      progress: { completed_tasks: 1, total_tasks: 3 },
      tasks: [
        {
          task_id: 'classify_request',
          name: 'classify_request',
          agent: 'support_clerk',
          status: 'completed',
          output: 'billing',
          attempts: 1,
          model: STAND_IN,
        },
        {
          task_id: 'draft_reply',
          name: 'draft_reply',
          agent: 'reply_writer',
          status: 'pending_human_input',
          output: expect.stringContaining(DOUBLE_CHARGE),
          attempts: 1,
          model: STAND_IN,
        },
        { task_id: 'final_reply', name: 'final_reply', agent: 'reply_writer', status: 'pending', attempts: 0 },
      ],
      waiting_since: expect.any(String),
      model: STAND_IN,
      execution_time: expect.any(Number),
    });
    expect(await user.resume(id, { task_id: 'draft_reply', is_approve: true })).toEqual({
      status: 200,
      body: { status: 'resumed', message: expect.any(String) },
    });
    const done = await user.reaches(id, 'completed');
    await eventually('the steps are removed', async () => {
      const { body } = await crew.get(`/crews/support-reply/${id}/tasks/draft_reply/steps`);
      return body.attempt === 1 && body.steps.length === 0;
    });
    expect((await crew.get(`/crews/support-reply/${id}/tasks/none/steps`)).status).toBe(404);
    expect((await user.get(`/crews/support-reply/${id}/tasks/draft_reply/steps`)).status).toBe(403);
    expect(done).toMatchObject({ current_task: null, progress: { completed_tasks: 3, total_tasks: 3 } });
    expect(done.result).toBe(paused.tasks[1].output);
    expect((await crew.status(id)).execution_time).toBe(done.execution_time);
  });

  test.each([
    ['refund', 'billing'],
    ['password', 'account'],
    ['', 'other'],
  ])('the message "%s" is about %s', async (customer_message, category) => {
    const id = await crew.start({ ...SUPPORT, customer_message });
    const { tasks } = await crew.reaches(id, 'pending_human_input');
    expect(tasks[0].output).toBe(category);
  });

  test('a rejected task is retried with the feedback until it is approved', async () => {
    const id = await crew.start(SUPPORT);
    const first = await crew.reaches(id, 'pending_human_input');
    expect(first.tasks[1].output).not.toContain(PHONE_LINE);
    const rejection = { task_id: 'draft_reply', is_approve: false };
    const rejected = await crew.resume(id, { ...rejection, human_feedback: 'Mention when the phone line is open.' });
    expect(rejected).toMatchObject({ status: 200, body: { status: 'retrying' } });
    const second = await crew.reaches(id, 'pending_human_input', { task: 'draft_reply', count: 2 });
    expect(second.tasks[1].output).toContain(DOUBLE_CHARGE);
    expect(second.tasks[1].output).toContain(PHONE_LINE);
    await crew.resume(id, { ...rejection, human_feedback: 'And how long a refund takes to arrive.' });
    const third = await crew.reaches(id, 'pending_human_input', { task: 'draft_reply', count: 3 });
    expect(third.tasks[1].output).toContain(PHONE_LINE);
    expect(third.tasks[1].output).toContain('Refunds go back to the card');
    await crew.resume(id, { task_id: 'draft_reply', is_approve: true });
    expect((await crew.reaches(id, 'completed')).result).toContain(PHONE_LINE);
  });

  test('an execution with stored inputs that are not texts uses them as JSON', async () => {
    const id = await crew.start(SUPPORT);
    await crew.reaches(id, 'pending_human_input');
    const inputs = JSON.stringify({ ...SUPPORT, notes: { refund: DOUBLE_CHARGE } });
    await withDb(mongodbUri, (db) =>
      db.collection<{ _id: string }>('crew_executions').updateOne({ _id: id }, { $set: { inputs } }),
    );
    await crew.resume(id, { task_id: 'draft_reply', is_approve: false });
    const again = await crew.reaches(id, 'pending_human_input', { task: 'draft_reply', count: 2 });
    expect(again.tasks[1].output).toContain(`{"refund":"${DOUBLE_CHARGE}"}`);
  });

  test('an id is case-insensitive', async () => {
    const id = (await crew.start(SUPPORT)).toUpperCase();
    const { execution_id } = await crew.reaches(id, 'pending_human_input');
    expect(execution_id).toBe(id.toLowerCase());
    const approval = { task_id: 'draft_reply', is_approve: true };
    expect(await crew.resume(id, approval)).toMatchObject({ status: 200, body: { status: 'resumed' } });
  });

  test('one of several resumes at the same time is accepted', async () => {
    const id = await crew.start(SUPPORT);
    await crew.reaches(id, 'pending_human_input');
    const responses = await Promise.all(
      [true, false, true, false].map((is_approve) => crew.resume(id, { task_id: 'draft_reply', is_approve })),
    );
    expect(responses.map(({ status }) => status).sort()).toEqual([200, 400, 400, 400]);
    const accepted = responses.find(({ status }) => status === 200)!;
    if (accepted.body.status === 'retrying') {
      await crew.reaches(id, 'pending_human_input', { task: 'draft_reply', count: 2 });
    } else {
      expect((await crew.reaches(id, 'completed')).tasks[1].attempts).toBe(1);
    }
  });

  test('a kickoff with an Idempotency-Key starts one execution', async () => {
    const key = { 'Idempotency-Key': 'crew-once' };
    const first = await crew.kickoff({ inputs: SUPPORT }, key);
    expect(await crew.kickoff({ inputs: SUPPORT }, key)).toEqual(first);
    expect(await crew.kickoff({ inputs: { ...SUPPORT, notes: 'Others.' } }, key)).toMatchObject({ status: 409 });
  });

  test('a brief uses the passages of a content database', async () => {
    const api = await clientOf('crews');
    await api.createDatabase('library');
    const names = ['lighthouse-history.pdf', 'visitor-notes.md'];
    const files = names.map((name) => ({ name, content: readFileSync(`examples/${name}`) }));
    await api.ingest({ database: 'library', document_metadata: '[{"id":"history"},{"id":"notes"}]' }, files);
    for (const id of ['history', 'notes']) await api.ended('library', id);
    const brief = createCrewClient(apiUrl, 'document-brief', (await makeKey(mongodbUri, 'crews', 'crew_org')).key);
    const topic = 'When was the lighthouse built, and what did its lamp burn?';
    const { result } = await brief.reaches(await brief.start({ database: 'library', topic }), 'completed');
    expect(result).toContain('- The first lamp burned colza oil.');
    expect(result.split('\n').length).toBeLessThanOrEqual(5);
    const other = createCrewClient(
      apiUrl,
      'document-brief',
      (await makeKey(mongodbUri, 'crews-other', 'crew_org')).key,
    );
    const withoutAccess = await other.reaches(await other.start({ database: 'library', topic }), 'completed');
    expect(withoutAccess.result).not.toContain('colza');
  });

  test('executions are listed, newest first, and those that wait apart', async () => {
    const { key } = await makeKey(mongodbUri, 'crews-listed', 'crew_org');
    const own = createCrewClient(apiUrl, 'support-reply', key);
    const ids: string[] = [];
    for (let n = 0; n < 3; n++) {
      ids.push(await own.start(SUPPORT));
      await own.reaches(ids[n]!, 'pending_human_input');
    }
    await own.resume(ids[1]!, { task_id: 'draft_reply', is_approve: true });
    await own.reaches(ids[1]!, 'completed');
    const list = async (query: string) => (await own.get(`/crews/support-reply/executions${query}`)).body;
    const idsOf = ({ executions }: { executions: { execution_id: string }[] }) =>
      executions.map(({ execution_id }) => execution_id);
    const first = await list('?limit=2');
    expect(idsOf(first)).toEqual([ids[2], ids[1]]);
    expect(first.executions[1]).toMatchObject({ status: 'completed', progress: { completed_tasks: 3 } });
    const second = await list(`?limit=2&cursor=${first.next_cursor}`);
    expect([idsOf(second), second.next_cursor]).toEqual([[ids[0]], null]);
    expect(idsOf(await list('?status=waiting'))).toEqual([ids[2], ids[0]]);
    expect(idsOf(await list('?status=completed'))).toEqual([ids[1]]);
    expect(idsOf((await own.get('/crews/document-brief/executions')).body)).toEqual([]);
    expect((await own.get('/crews/support-reply/executions?cursor=x')).status).toBe(400);
    expect((await own.get('/crews/support-reply/executions?status=x')).status).toBe(400);

    const personFor = async (crews?: string[]) => {
      const { key } = await makeKey(mongodbUri, 'crews-listed', 'crew_user', null, SCOPES, crews);
      return createCrewClient(apiUrl, 'support-reply', key);
    };
    const person = await personFor(['support-reply']);
    const { body: oldest } = await person.get('/crews/waiting?limit=1');
    expect(oldest.waiting).toEqual([
      {
        review_url: expect.stringMatching(/\/review#[\w.-]+$/),
        crew: 'support-reply',
        execution_id: ids[0],
        task_id: 'draft_reply',
        agent: 'reply_writer',
        attempt: 1,
        output: expect.stringContaining(DOUBLE_CHARGE),
        waiting_since: expect.any(String),
      },
    ]);
    const { body: next } = await person.get(`/crews/waiting?limit=1&cursor=${oldest.next_cursor}`);
    expect(next).toMatchObject({ waiting: [{ execution_id: ids[2] }], next_cursor: null });
    expect((await person.get('/crews/support-reply/executions')).status).toBe(403);
    const ofAnother = await personFor(['document-brief']);
    expect((await ofAnother.get('/crews/waiting')).body.waiting).toEqual([]);
    expect((await ofAnother.get(`/crews/support-reply/${ids[0]}/status`)).status).toBe(403);
    const ofNone = await personFor();
    expect((await ofNone.get('/crews/waiting')).body.waiting).toEqual([]);
    expect((await ofNone.get(`/crews/support-reply/${ids[0]}/status`)).status).toBe(200);
    expect(idsOf((await crew.get('/crews/support-reply/executions?limit=100')).body)).not.toContain(ids[0]);
  });

  test('an execution is cancelled, once and by its organisation only', async () => {
    const id = await crew.start(SUPPORT);
    await crew.reaches(id, 'pending_human_input');
    const cancel = (client: CrewClient, name = 'support-reply') =>
      client.request('POST', `/crews/${name}/${id}/cancel`, {});
    const stranger = createCrewClient(
      apiUrl,
      'support-reply',
      (await makeKey(mongodbUri, 'other-crews', 'crew_org')).key,
    );
    expect((await cancel(stranger)).status).toBe(404);
    expect((await cancel(crew, 'document-brief')).status).toBe(404);
    expect((await cancel(user)).status).toBe(403);
    expect(await cancel(crew)).toMatchObject({ status: 202, body: { kickoff_id: id, status: 'cancelling' } });
    expect(await crew.reaches(id, 'error')).toMatchObject({
      error: 'The execution was cancelled.',
      error_code: 'cancelled',
      current_task: null,
    });
    expect((await cancel(crew)).status).toBe(400);
    expect((await crew.resume(id, { task_id: 'draft_reply', is_approve: true })).status).toBe(400);
  });

  describe('errors', () => {
    const rejected = (status: number, error: string) => ({ status, body: { error, message: expect.any(String) } });
    const approval = { task_id: 'draft_reply', human_feedback: 'Fine.', is_approve: true };
    const nested = (levels: number) => `${'['.repeat(levels)}${']'.repeat(levels)}`;
    const unknown = '00000000-0000-4000-8000-000000000000';
    let paused: string;
    beforeAll(async () => {
      paused = await crew.start(SUPPORT);
      await crew.reaches(paused, 'pending_human_input');
    });

    test.each<[string, unknown]>([
      ['a missing input', { inputs: { notes: 'x' } }],
      ['inputs that are not an object', { inputs: 'x' }],
      ['a null input', { inputs: { ...SUPPORT, notes: null } }],
      ['meta that is not an object', { inputs: SUPPORT, meta: 'x' }],
      ['a private callback URL', { inputs: SUPPORT, taskWebhookUrl: 'https://10.0.0.1/' }],
      ['an http callback URL', { inputs: SUPPORT, crewWebhookUrl: 'http://example.com/' }],
      ['an invalid callback URL', { inputs: SUPPORT, stepWebhookUrl: 'somewhere' }],
      ['an input that is nested too deep', `{"inputs":{"customer_message":${nested(100_000)},"notes":"x"}}`],
      ['meta that is nested too deep', `{"inputs":${JSON.stringify(SUPPORT)},"meta":{"a":${nested(100_000)}}}`],
      ['meta too deep for the payload', { inputs: SUPPORT, meta: { a: JSON.parse(nested(100)) } }],
      ['meta that cannot be sent back', { inputs: SUPPORT, meta: { a: '\ud800' } }],
      ['meta that gets too long', { inputs: SUPPORT, meta: { a: 'x'.repeat(300_000) } }],
      ['a body that is not JSON', '{'],
    ])('kickoff with %s: 400', async (_what, body) => {
      expect(await crew.kickoff(body)).toEqual(rejected(400, 'Bad Request'));
    });

    test.each<[string, object]>([
      ['an id that is not a UUID', { execution_id: 'x' }],
      ['no task', { task_id: undefined }],
      ['empty feedback', { human_feedback: '  ' }],
      ['no feedback', { human_feedback: undefined }],
      ['is_approve as text', { is_approve: 'true' }],
      ['a private callback URL', { taskWebhookUrl: 'https://192.168.1.1/' }],
      ['a task that does not wait', { task_id: 'final_reply' }],
      ['a completed task', { task_id: 'classify_request' }],
    ])('resume with %s: 400', async (_what, change) => {
      const body = { execution_id: paused, ...approval, ...change };
      expect(await crew.request('POST', '/crews/support-reply/resume', body)).toEqual(rejected(400, 'Bad Request'));
    });

    test.each<[string, object]>([
      ['execution', { execution_id: unknown }],
      ['execution with a UUID of another version', { execution_id: '11111111-1111-1111-1111-111111111111' }],
      ['task', { task_id: 'nothing' }],
    ])('resume of an unknown %s: 404', async (_what, change) => {
      const body = { execution_id: paused, ...approval, ...change };
      expect(await crew.request('POST', '/crews/support-reply/resume', body)).toEqual(rejected(404, 'Not Found'));
    });

    test('an execution that has ended cannot be resumed: 400', async () => {
      const id = await crew.start(SUPPORT);
      await crew.reaches(id, 'pending_human_input');
      await crew.resume(id, approval);
      await crew.reaches(id, 'completed');
      expect(await crew.resume(id, approval)).toEqual(rejected(400, 'Bad Request'));
    });

    test('an unknown key is 401; a key of another service, or of a user for kickoff and the list, is 403', async () => {
      const unknownKey = createCrewClient(apiUrl, 'support-reply', 'pbk_crew_unknown_unknown_unknown');
      expect(await unknownKey.get('/crews')).toEqual(rejected(401, 'Unauthorized'));
      expect(await unknownKey.resume(paused, approval)).toEqual(rejected(401, 'Unauthorized'));
      const api = createCrewClient(apiUrl, 'support-reply', (await makeKey(mongodbUri, 'crews')).key);
      const forbidden = await api.resume(paused, approval);
      expect(forbidden).toEqual(rejected(403, 'Forbidden'));
      expect(forbidden.body.message).toContain('needs a key of kind crew_org or crew_user');
      expect(await user.kickoff({ inputs: SUPPORT })).toEqual(rejected(403, 'Forbidden'));
      expect(await user.get('/crews')).toEqual(rejected(403, 'Forbidden'));
    });

    test('an execution of another organisation or crew is not found', async () => {
      const other = createCrewClient(
        apiUrl,
        'support-reply',
        (await makeKey(mongodbUri, 'other-crews', 'crew_org')).key,
      );
      expect(await other.get(`/crews/support-reply/${paused}/status`)).toEqual(rejected(404, 'Not Found'));
      expect(await other.resume(paused, approval)).toEqual(rejected(404, 'Not Found'));
      expect(await crew.get(`/crews/document-brief/${paused}/status`)).toEqual(rejected(404, 'Not Found'));
    });

    test('unknown crews, executions and routes: 404', async () => {
      expect(await crew.get('/crews/unknown/inputs')).toEqual(rejected(404, 'Not Found'));
      expect(await crew.request('POST', '/crews/unknown/kickoff', { inputs: {} })).toEqual(rejected(404, 'Not Found'));
      expect(await crew.get(`/crews/support-reply/${unknown}/status`)).toEqual(rejected(404, 'Not Found'));
      expect(await crew.get('/crews/support-reply/nothing')).toEqual(rejected(404, 'Not Found'));
    });

    test('rejected requests change nothing', async () => {
      expect(await crew.status(paused)).toMatchObject({ status: 'pending_human_input', current_task: 'draft_reply' });
    });
  });
});
