import { INDEXING_STATUS_TABLE } from 'domain/content/states.js';
import { isFinalState } from 'domain/state-machine.js';
import { call } from '../api.js';
import { html } from '../html.js';
import { useAction, useLive } from '../live.js';
import { linkTo } from '../router.js';
import { session } from '../session.js';
import { settings } from '../settings.js';
import { ActionButton, Command, Problem } from '../ui.js';

/** The database of the sample files, and the crew that is started beside them. */
const DATABASE = 'examples';
const CREW = 'support-reply';
const INPUTS = {
  customer_message: 'I was charged twice. Can I get my money back?',
  notes:
    'A second charge is refunded in full.\nMoney goes back to the card that was charged.\nRefunds take five working days to arrive.\nParcels take two days.',
};
/** The execution that was started with the examples in this browser. */
const STARTED = 'postback.examples.execution';
const POLL_MS = 300;

/** What a new instance offers. @param {{ onChanged: () => Promise<unknown> }} props */
export function FirstSteps({ onChanged }) {
  const add = useAction(addExamples, onChanged);
  return html`
    <div class="first-steps">
      ${
        settings.examples.length > 0 &&
        html`
          <section class="card wide-card" aria-label="Examples">
            <h2>See it work</h2>
            <p>${`${settings.examples.length} small files about a lighthouse go into a database of their own`}${session.key('crew') === null ? '' : ', and a crew drafts a letter that waits for your decision'}. One click takes them away again.</p>
            <${Problem} error=${add.error} />
            <div class="decision"><${ActionButton} className="primary" run=${add.run}>Add the examples</${ActionButton}></div>
          </section>
        `
      }
      <section class="card" aria-label="Your files">
        <h2>Your files</h2>
        <p>Put files and notes into a database, then ask them something.</p>
        <p><a class="button" href=${linkTo('items')}>Items</a></p>
        <${Command}>./postback databases create library && ./postback ingest examples --database library --watch</${Command}>
      </section>
      <section class="card" aria-label="AI jobs">
        <h2>AI jobs</h2>
        <p>Read a scan, summarise a text, find its names.</p>
        <p><a class="button" href=${linkTo('jobs', { new: 'any' })}>New job</a></p>
        <${Command}>./postback jobs run ocr/ocr_async/tesseract examples/notice-board.png --wait</${Command}>
      </section>
      <section class="card" aria-label="Crews">
        <h2>Crews</h2>
        <p>Agents work through tasks, and wait for your decision.</p>
        <p><a class="button" href=${linkTo('crews')}>Crews</a></p>
        <${Command}>./postback crews list</${Command}>
      </section>
    </div>
  `;
}

/** What to do with the examples, while they are there. @param {{ onChanged: () => Promise<unknown> }} props */
export function Examples({ onChanged }) {
  const examples = useLive(stateOfExamples, [], (state) => (state === 'in progress' ? 1_500 : 30_000));
  const remove = useAction(removeExamples, examples.refresh, onChanged);
  if (!examples.data || examples.data === 'absent') return null;
  return html`
    <section class="card examples" aria-label="Examples">
      <p class="grow">
        The examples are in the database <b>${DATABASE}</b>.${' '}
        ${
          examples.data === 'ready'
            ? html`<a href=${linkTo('search', { database: DATABASE, q: 'How often does the lamp flash?' })}>Ask how often the lamp flashes</a>`
            : 'They are being read'
        }${session.key('crew') !== null && html`, or <a href=${linkTo('crews')}>decide on the letter</a> of the crew`}.
      </p>
      <${Problem} error=${remove.error} />
      <${ActionButton} run=${remove.run}>Remove the examples</${ActionButton}>
    </section>
  `;
}

/**
 * Whether the database of the examples is there, and holds nothing else: a database of this name that a person fills is not ours.
 * @param {AbortSignal} [signal]
 * @returns {Promise<'absent' | 'in progress' | 'ready'>}
 */
async function stateOfExamples(signal) {
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
async function addExamples() {
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
async function removeExamples() {
  const execution = localStorage.getItem(STARTED);
  localStorage.removeItem(STARTED);
  // It may have ended.
  if (execution) await call('POST', `/crews/${CREW}/${execution}/cancel`, { as: 'crew' }).catch(() => null);
  await call('DELETE', `/databases/${DATABASE}`);
}
