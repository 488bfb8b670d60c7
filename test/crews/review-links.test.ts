import { once } from 'node:events';
import { connect } from 'node:net';
import { describe, expect, test } from '@jest/globals';
import { fetchDocumented } from '../support/conformance.js';
import { createCrewClient } from '../support/crew-client.js';
import { crewDuringTests, receiverDuringTests } from '../support/during-tests.js';
import { eventually } from '../support/eventually.js';
import { makeKey, sharedProduct, withDb } from '../support/product.js';

const INPUTS = { customer_message: 'Where is my parcel?', notes: 'Parcels arrive after two or three working days.' };
const TASK = 'draft_reply';

describe('review links', () => {
  const { apiUrl, mongodbUri } = sharedProduct();
  const receiver = receiverDuringTests();
  const crew = crewDuringTests('review-links');

  /** An execution that waits, with its link. */
  async function waiting(rest: object = {}) {
    const id = await crew.start(INPUTS, rest);
    const { review_url, tasks } = await crew.reaches(id, 'pending_human_input');
    return { id, url: review_url as string, output: tasks[1].output as string };
  }
  const headersOf = (url: string) => ({
    Authorization: `Bearer ${new URL(url).hash.slice(1)}`,
    'Content-Type': 'application/json',
  });
  const read = (url: string) => fetchDocumented(apiUrl, 'GET', '/review/output', { headers: headersOf(url) });
  const decide = (url: string, decision: object) =>
    fetchDocumented(apiUrl, 'POST', '/review/decision', { headers: headersOf(url), body: JSON.stringify(decision) });

  test('show one output and take the decision on it, and callbacks go on to their receivers', async () => {
    const { id, url, output } = await waiting({ taskWebhookUrl: receiver.url, crewWebhookUrl: receiver.url });
    expect(url.startsWith(`${apiUrl}/review#`)).toBe(true);
    const callback = await receiver.waitFor('the callback', ({ json }) => json.event === 'task_pending_human_input');
    expect(callback.json.review_url).toBe(url);
    const listed = (await crew.get('/crews/waiting')).body.waiting;
    expect(listed).toEqual([expect.objectContaining({ execution_id: id, review_url: url })]);
    expect(await read(url)).toMatchObject({
      status: 200,
      body: { state: 'waiting', crew: 'support-reply', task_id: TASK, output },
    });
    const { status, body } = await decide(url, { is_approve: true });
    expect([status, body]).toEqual([
      200,
      { status: 'resumed', message: 'The task is approved; the execution continues.' },
    ]);
    await crew.reaches(id, 'completed');
    await receiver.waitFor('the end', ({ json }) => json.event === 'crew_completed' && json.execution_id === id);
    const { body: decided } = await read(url);
    expect(decided).toEqual({
      state: 'approved',
      crew: 'support-reply',
      task_id: TASK,
      decided_at: expect.any(String),
      decided_by: 'with a review link',
    });
    expect((await crew.status(id)).review_url).toBeUndefined();
  });

  test('end with one decision: of two at once one wins, and a rejection gives the next output a link of its own', async () => {
    const { id, url } = await waiting();
    const answers = await Promise.all([
      decide(url, { is_approve: false, human_feedback: 'Name the day.' }),
      decide(url, { is_approve: false, human_feedback: 'Shorter.' }),
      crew.resume(id, { task_id: TASK, is_approve: false }),
    ]);
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 400, 400]);
    const { review_url } = await crew.reaches(id, 'pending_human_input', { task: TASK, count: 2 });
    expect(review_url).not.toBe(url);
    expect((await read(url)).body.state).toBe('rejected');
    expect(await decide(url, { is_approve: true })).toMatchObject({
      status: 400,
      body: { message: 'This output does not wait for a decision any more.' },
    });
    expect((await decide(review_url, { is_approve: true, human_feedback: 'Good.' })).status).toBe(200);
  });

  test('need feedback to reject', async () => {
    const { url } = await waiting();
    expect(await decide(url, { is_approve: false })).toMatchObject({
      status: 400,
      body: { message: 'human_feedback: is required to reject an output' },
    });
    expect((await read(url)).body.state).toBe('waiting');
  });

  test('can be revoked, by keys of the organisation only', async () => {
    const { id, url } = await waiting();
    const path = `/crews/support-reply/${id}/review-links`;
    const userKey = (await makeKey(mongodbUri, 'review-links', 'crew_user')).key;
    expect((await createCrewClient(apiUrl, 'support-reply', userKey).request('DELETE', path)).status).toBe(403);
    const revoked = await crew.request('DELETE', path);
    expect(revoked).toMatchObject({ status: 200, body: { execution_id: id, review_url: expect.any(String) } });
    expect([(await read(url)).status, (await decide(url, { is_approve: true })).status]).toEqual([404, 404]);
    expect((await read(revoked.body.review_url)).body.state).toBe('waiting');
    await crew.request('POST', `/crews/support-reply/${id}/cancel`);
    await crew.reaches(id, 'error');
    expect((await read(revoked.body.review_url)).body).toEqual({ state: 'over', crew: 'support-reply', task_id: TASK });
    expect((await crew.request('DELETE', path)).status).toBe(400);
  });

  test('end with the deadline, even before the workflow has decided', async () => {
    const { id, url } = await waiting();
    const overdue = { 'definition.review': { deadline_ms: 1, reminder_ms: null, on_deadline: 'fail' } };
    await withDb(mongodbUri, (db) =>
      db.collection('crew_executions').updateOne({ _id: id as never }, { $set: overdue }),
    );
    await eventually('over', async () => (await read(url)).body.state === 'over');
    expect((await decide(url, { is_approve: true })).status).toBe(400);
  });

  test('are forged by nobody: each part of a token counts', async () => {
    const { url } = await waiting();
    const other = await waiting();
    const [subject, signature] = new URL(url).hash.slice(1).split('.') as [string, string];
    const [otherSubject] = new URL(other.url).hash.slice(1).split('.') as [string];
    const changed = Buffer.from(Buffer.from(subject, 'base64url').toString().replace(/^1/, '0')).toString('base64url');
    const forged = [
      `${otherSubject}.${signature}`,
      `${changed}.${signature}`,
      `${subject}.`,
      subject,
      'x',
      `${subject}.${signature.slice(1)}`,
    ];
    for (const token of forged) expect([token, (await read(`${apiUrl}/review#${token}`)).status]).toEqual([token, 404]);
    expect((await read(`${apiUrl}/review#`)).status).toBe(401);
  });

  test.each([
    ['a wrong link', 'Authorization: Bearer x.y\r\n', 404],
    ['no link', '', 401],
  ])('are checked before a body is read: %s', async (_what, header, status) => {
    const socket = connect(Number(new URL(apiUrl).port), '127.0.0.1').setEncoding('latin1');
    socket.write(
      `POST /review/decision HTTP/1.1\r\nHost: localhost\r\n${header}` +
        // Such a body is rejected when its turn to be read comes.
        'Content-Type: application/json\r\nContent-Encoding: gzip\r\nTransfer-Encoding: chunked\r\n\r\n',
    );
    const [response] = await once(socket, 'data');
    expect(response).toMatch(new RegExp(`^HTTP/1.1 ${status} `));
    socket.destroy();
  });

  test('lead to a page that runs no foreign code, sends its address to no other site, and decides nothing by itself', async () => {
    const response = await fetch(`${apiUrl}/review`);
    const html = await response.text();
    expect(Object.fromEntries(response.headers)).toMatchObject({
      'content-type': 'text/html; charset=utf-8',
      'referrer-policy': 'no-referrer',
      'x-robots-tag': 'noindex',
    });
    const policy = response.headers.get('content-security-policy')!;
    expect(policy).toContain("default-src 'none'; script-src 'self'");
    expect(policy).not.toMatch(/unsafe|https?:|\*/);
    expect(html).not.toMatch(/<script(?![^>]* src="\/review\/page\.js")|<form[^>]*action|\sstyle=|\son\w+=/);
    expect((await fetch(`${apiUrl}/review/decision`)).status).toBe(405);
  });
});
