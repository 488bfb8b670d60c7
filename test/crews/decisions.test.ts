import { beforeAll, describe, expect, test } from '@jest/globals';
import { type CrewClient, createCrewClient } from '../support/crew-client.js';
import { makeKey, sharedProduct, withDb } from '../support/product.js';

const TASK = 'draft_reply';
const NOT_WAITING = 'The execution is not waiting for human input on';

describe('decisions on outputs', () => {
  const { apiUrl, mongodbUri } = sharedProduct();
  let crew: CrewClient;
  let person: CrewClient;
  let by: { kind: 'key'; key_id: string; label: string };
  beforeAll(async () => {
    const [all, one] = await Promise.all([
      makeKey(mongodbUri, 'decisions', 'crew_org'),
      makeKey(mongodbUri, 'decisions', 'crew_user'),
    ]);
    crew = createCrewClient(apiUrl, 'support-reply', all.key);
    person = createCrewClient(apiUrl, 'support-reply', one.key);
    const { _id: key_id, label } = one.record;
    by = { kind: 'key', key_id, label };
  });

  async function waiting(): Promise<string> {
    const id = await crew.start({ customer_message: 'Where is my parcel?', notes: 'Parcels take two days.' });
    await crew.reaches(id, 'pending_human_input');
    return id;
  }
  const decisionOf = async (id: string) => (await crew.status(id)).tasks[1].decision;

  test('are stored with the key that made them, and named to who decides too late', async () => {
    const id = await waiting();
    await person.approve(id, TASK);
    const decided_at = expect.any(String);
    expect(await decisionOf(id)).toEqual({ attempt: 1, is_approve: true, decided_at, decided_by: by });
    expect(await crew.resume(id, { task_id: TASK, is_approve: false })).toMatchObject({
      status: 400,
      body: { message: `${NOT_WAITING} this task. Its output was approved by the key "${by.label}".` },
    });
  });

  test('count for the attempt that was read only', async () => {
    const id = await waiting();
    await person.resume(id, { task_id: TASK, is_approve: false });
    await crew.reaches(id, 'pending_human_input', { task: TASK, count: 2 });
    expect(await crew.resume(id, { task_id: TASK, is_approve: true, attempt: 1 })).toMatchObject({
      status: 400,
      body: { message: `${NOT_WAITING} attempt 1 of this task. Its output was rejected by the key "${by.label}".` },
    });
    expect(await crew.resume(id, { task_id: TASK, is_approve: true, attempt: 3 })).toMatchObject({
      status: 400,
      body: { message: `${NOT_WAITING} attempt 3 of this task.` },
    });
    expect((await crew.resume(id, { task_id: TASK, is_approve: true, attempt: 2 })).status).toBe(200);
    expect(await decisionOf(id)).toMatchObject({ attempt: 2, is_approve: true, decided_by: { kind: 'key' } });
  });

  test('of two at once one counts, and the status names who made it', async () => {
    const id = await waiting();
    const answers = await Promise.all(
      [crew, person].map((each) => each.resume(id, { task_id: TASK, is_approve: true })),
    );
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 400]);
    const { decided_by } = await decisionOf(id);
    expect(decided_by.key_id === by.key_id).toBe(answers[1]!.status === 200);
  });

  test('of an earlier release have no author', async () => {
    const id = await waiting();
    await person.approve(id, TASK);
    await withDb(mongodbUri, (db) =>
      db
        .collection<{ _id: string }>('crew_executions')
        .updateOne({ _id: id }, { $unset: { 'tasks.1.decision.decided_by': '' } }),
    );
    expect(await decisionOf(id)).toEqual({ attempt: 1, is_approve: true, decided_at: expect.any(String) });
    const late = await crew.resume(id, { task_id: TASK, is_approve: true });
    expect(late.body.message).toContain('approved by somebody unknown');
  });
});
