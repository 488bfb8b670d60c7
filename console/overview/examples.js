import { INDEXING_STATUS_TABLE } from 'domain/content/states.js';
import { isFinalState } from 'domain/state-machine.js';
import { call } from '../api.js';
import { session } from '../session.js';
import { settings } from '../settings.js';

/** The database of the sample files, and the crew that is started beside them. */
export const DATABASE = 'examples';
const CREW = 'support-reply';
const INPUTS = {
  customer_message: 'I was charged twice. Can I get my money back?',
  notes:
    'A second charge is refunded in full.\nMoney goes back to the card that was charged.\nRefunds take five working days to arrive.\nParcels take two days.',
};
/** The execution that was started with the examples in this browser. */
const STARTED = 'postback.examples.execution';
const POLL_MS = 300;

/**
 * Whether the database of the examples is there, and holds nothing else: a database of this name that a person fills is not ours.
 * @param {AbortSignal} [signal]
 * @returns {Promise<'absent' | 'in progress' | 'ready'>}
 */
export async function stateOfExamples(signal) {
  const { databases } = await call('GET', '/databases?limit=100', { signal });
  const found = databases.find((/** @type {{ database: string }} */ { database }) => database === DATABASE);
  if (found?.status !== 'ready') return 'absent';
  const { items } = await call('GET', `/context/list?database=${DATABASE}&limit=100`, { signal });
  if (items.some((/** @type {{ id: string }} */ { id }) => !settings.examples.includes(id))) return 'absent';
  const isRead = items.every((/** @type {import('../api.js').Schemas['Item']} */ { indexing_status }) =>
    isFinalState(INDEXING_STATUS_TABLE, indexing_status),
  );
  return isRead ? 'ready' : 'in progress';
}

/** Puts the sample files into their database, and starts the example crew if the session has a key for it. */
export async function addExamples() {
  await call('POST', '/databases', { body: { database: DATABASE } }).catch((error) => {
    if (error.code !== 'DATABASE_ALREADY_EXISTS') throw error;
  });
  await isReady();
  const form = new FormData();
  form.append('database', DATABASE);
  form.append('upsert', 'true');
  form.append('document_metadata', JSON.stringify(settings.examples.map((id) => ({ id }))));
  for (const name of settings.examples) {
    const response = await fetch(`/console/examples/${encodeURIComponent(name)}`);
    form.append('documents', await response.blob(), name);
  }
  await call('POST', '/context/ingest', { form });
  await startCrew();
}

async function isReady() {
  for (;;) {
    const { infra } = await call('GET', `/databases/status?database=${DATABASE}`);
    if (infra.ready_for_ingestion) return;
    await new Promise((resolve) => setTimeout(resolve, POLL_MS));
  }
}

async function startCrew() {
  if (session.key('crew') === null) return;
  // A key of a user may not start it, and it need not be deployed here.
  const started = await call('POST', `/crews/${CREW}/kickoff`, { body: { inputs: INPUTS }, as: 'crew' }).catch(
    () => null,
  );
  if (started) localStorage.setItem(STARTED, started.kickoff_id);
}

/** Deletes the database of the examples, and ends the execution that was started with them. */
export async function removeExamples() {
  const execution = localStorage.getItem(STARTED);
  localStorage.removeItem(STARTED);
  // It may have ended.
  if (execution) await call('POST', `/crews/${CREW}/${execution}/cancel`, { as: 'crew' }).catch(() => null);
  await call('DELETE', `/databases/${DATABASE}`);
}
