import { html } from '../html.js';
import { useAction, useLive } from '../live.js';
import { linkTo } from '../router.js';
import { session } from '../session.js';
import { settings } from '../settings.js';
import { ActionButton, Command, Problem } from '../ui.js';
import { addExamples, DATABASE, removeExamples, stateOfExamples } from './examples.js';

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
  const remove = useAction(removeExamples, () => Promise.all([examples.refresh(), onChanged()]));
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
