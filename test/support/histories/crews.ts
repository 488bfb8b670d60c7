import { createCrewClient } from '../crew-client.js';
import { eventually } from '../eventually.js';
import { sendCompletion, sendJson } from '../openai-server.js';
import { makeKey } from '../product.js';
import type { Recording } from './recording.js';

const INPUTS = { customer_message: 'The note about my parcel?', notes: 'The note says that parcels take two days.' };
const task_id = 'draft_reply';

/** Records histories of crew executions, one per path through the workflow. */
export async function recordCrews({ org, api, product, openai, temporal, record }: Recording): Promise<void> {
  await api.createDatabase('library');
  const { key } = await makeKey(product.mongodbUri, org, 'crew_org');
  const support = createCrewClient(product.apiUrl, 'support-reply', key);
  const brief = createCrewClient(product.apiUrl, 'document-brief', key);

  openai.respondWith((request, response) => {
    const toolsUsed = request.json().messages.some(({ role }) => role === 'tool');
    if (toolsUsed || !request.json().tools) return sendCompletion(response, 'The note, in brief.');
    const args = JSON.stringify({ database: 'library', query: 'the note' });
    const call = { id: 'call_1', type: 'function', function: { name: 'query_database', arguments: args } };
    sendCompletion(response, null, { tool_calls: [call, { ...call, id: 'call_2' }], finish_reason: 'tool_calls' });
  });
  const briefed = await brief.start({ database: 'library', topic: 'The note' });
  await brief.reaches(briefed, 'completed');
  await record('run-crew-completed', `crew/${briefed}`);

  const approved = await support.start(INPUTS);
  await support.reaches(approved, 'pending_human_input');
  await record('run-crew-waiting', `crew/${approved}`, { open: true });
  await support.resume(approved, { task_id, is_approve: true });
  await record('run-crew-approved', `crew/${approved}`);

  const rejected = await support.start(INPUTS);
  await support.reaches(rejected, 'pending_human_input');
  await Promise.all([false, false].map((is_approve) => support.resume(rejected, { task_id, is_approve })));
  await support.reaches(rejected, 'pending_human_input', { task: task_id, count: 2 });
  await support.resume(rejected, { task_id, is_approve: true });
  await record('run-crew-rejected', `crew/${rejected}`);

  const long = await support.start(INPUTS);
  const handle = temporal.workflow.getHandle(`crew/${long}`);
  const { runId } = await eventually('the first run', () => handle.describe());
  let count = 1;
  while ((await handle.describe()).runId === runId) {
    await support.reaches(long, 'pending_human_input', { task: task_id, count });
    await support.resume(long, { task_id, is_approve: false });
    await support.reaches(long, 'pending_human_input', { task: task_id, count: ++count });
  }
  await support.resume(long, { task_id, is_approve: true });
  await record('run-crew-continued-as-new', `crew/${long}`, { runId });
  await record('run-crew-continued', `crew/${long}`);

  const letter = { name: 'Ada', facts: 'The note says that parcels take two days.' };
  const parseCrew = (name: string) => createCrewClient(product.apiUrl, name, key);
  const urgent = await parseCrew('urgent').start(letter);
  await record('run-crew-approved-at-deadline', `crew/${urgent}`);
  const hurried = await parseCrew('hurried').start(letter);
  await record('run-crew-deadline-exceeded', `crew/${hurried}`);

  const survey = parseCrew('survey');
  await record('run-crew-async', `crew/${await survey.start({ coast: 'the coast' })}`);
  openai.respondWith((request, response) => {
    // The other tasks stay without a response.
    if (JSON.stringify(request.json().messages).includes('the south')) sendJson(response, {}, 401);
  });
  await record('run-crew-async-failed', `crew/${await survey.start({ coast: 'the coast' })}`);

  openai.respondWith((_request, response) => sendJson(response, {}, 401));
  const failed = await support.start(INPUTS);
  await support.reaches(failed, 'error');
  await record('run-crew-failed', `crew/${failed}`);

  // An operator cancels an execution that waits for a person.
  openai.respondWith((_request, response) => sendCompletion(response, 'The note.'));
  const cancelled = await support.start(INPUTS);
  await support.reaches(cancelled, 'pending_human_input');
  await temporal.workflow.getHandle(`crew/${cancelled}`).cancel();
  await record('run-crew-cancelled', `crew/${cancelled}`);
}
