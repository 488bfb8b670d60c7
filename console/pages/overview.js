import { UNFINISHED_JOB_STATUSES } from 'domain/ai-jobs/states.js';
import { INDEXING_STATUS_TABLE, UNFINISHED_INDEXING_STATUSES } from 'domain/content/states.js';
import { call } from '../api.js';
import { TimeChart } from '../charts.js';
import { count, duration, plural, short } from '../format.js';
import { html } from '../html.js';
import { useLive } from '../live.js';
import { change, linkTo } from '../router.js';
import { session } from '../session.js';
import { Command, Empty, Loading, labelOf, Page, Problem, Time } from '../ui.js';

/** @typedef {import('../api.js').Schemas} Schemas */

const PERIODS = [
  ['1', 'Hour'],
  ['24', 'Day'],
  ['168', 'Week'],
];
/** Of the bar: from what is done to what is not begun, then what failed. */
const ORDER = /** @type {const} */ (['completed', ...UNFINISHED_INDEXING_STATUSES.toReversed(), 'errored']);

/** @param {{ parameters: Record<string, string> }} props */
export function Overview({ parameters: { hours = '24' } }) {
  const activity = useLive(
    (signal) => call('GET', `/usage/activity?hours=${Number(hours)}`, { signal }),
    [hours],
    10_000,
  );
  const attention = useLive(loadAttention, [], 10_000);
  const waiting = useLive(loadWaiting, [session.key('crew') !== null], 10_000);
  const period = html`
    <div class="segmented" role="group" aria-label="Period">
      ${PERIODS.map(
        ([value, label]) => html`
          <button type="button" aria-pressed=${value === hours ? 'true' : 'false'} onClick=${() => change({ hours: value })}>${label}</button>
        `,
      )}
    </div>
  `;
  return html`
    <${Page} title="Overview" actions=${period}>
      <${Problem} error=${activity.error} retry=${activity.refresh} />
      ${activity.data ? html`<${Activity} activity=${activity.data} waiting=${waiting.data} attention=${attention.data} />` : !activity.error && html`<${Loading} />`}
    </${Page}>
  `;
}

/**
 * The newest deliveries that failed for good.
 * @param {AbortSignal} signal
 */
async function loadAttention(signal) {
  const { deliveries } = await call('GET', '/deliveries?status=permanently_failed&limit=100', { signal });
  return /** @type {Schemas['Delivery'][]} */ (deliveries);
}

/** @param {AbortSignal} signal */
async function loadWaiting(signal) {
  if (session.key('crew') === null) return null;
  const { count: number, next_cursor } = await call('GET', '/crews/waiting?limit=100', { as: 'crew', signal });
  return next_cursor ? `${number}+` : String(number);
}

/** @param {{ activity: any, waiting: string | null | undefined, attention: Schemas['Delivery'][] | undefined }} props */
function Activity({ activity, waiting, attention }) {
  const { items, jobs, deliveries } = activity;
  const total = sum(Object.values(items.by_status));
  if (total === 0 && deliveries.attempts.length === 0 && Object.keys(jobs.by_status).length === 0)
    return html`<${FirstSteps} />`;
  const succeeded = sum(deliveries.attempts.map((/** @type {any} */ each) => each.succeeded));
  const failed = sum(deliveries.attempts.map((/** @type {any} */ each) => each.failed));
  const inProgress = sum(UNFINISHED_INDEXING_STATUSES.map((status) => items.by_status[status] ?? 0));
  const running = sum(UNFINISHED_JOB_STATUSES.map((status) => jobs.by_status[status] ?? 0));
  return html`
    <div class="tiles">
      <${Tile} href=${linkTo('items')} label="Items" value=${`${short(total)}${items.truncated ? '+' : ''}`}
        note=${inProgress > 0 ? `${count(inProgress)} in progress` : items.by_status.errored ? `${count(items.by_status.errored)} failed` : 'all indexed'}
        tone=${inProgress > 0 ? 'busy' : items.by_status.errored ? 'bad' : 'good'} />
      <${Tile} href=${linkTo('deliveries')} label="Attempts delivered" value=${rate(succeeded, failed)}
        note=${`${short(succeeded)} of ${plural(succeeded + failed, 'attempt')}`}
        tone=${succeeded + failed === 0 ? 'idle' : failed > succeeded / 10 ? 'bad' : failed > 0 ? 'warn' : 'good'} />
      <${Tile} href=${linkTo('jobs')} label="Jobs running" value=${count(running)}
        note=${`${count(jobs.by_status.success ?? 0)} succeeded, ${count(jobs.by_status.fail ?? 0)} failed`}
        tone=${running > 0 ? 'busy' : jobs.by_status.fail ? 'warn' : 'idle'} />
      <${Tile} href=${linkTo('crews')} label="Crews waiting" value=${waiting ?? '–'}
        note=${waiting === null ? 'add a crew key' : waiting && waiting !== '0' ? 'for a decision' : 'nothing to decide'}
        tone=${waiting && waiting !== '0' ? 'warn' : 'idle'} />
    </div>
    <section class="card" aria-label="Items by state">
      <h2>Items by state</h2>
      <${StateBar} counts=${items.by_status} total=${total} />
    </section>
    <${Charts} activity=${activity} />
    <${Attention} deliveries=${attention} />
  `;
}

/** @param {{ href: string, label: string, value: string, note: string, tone: string }} props */
const Tile = ({ href, label, value, note, tone }) => html`
  <a class="tile" href=${href}>
    <span class="tile-label">${label}</span>
    <span class="tile-value">${value}</span>
    <span class="state ${tone}">${note}</span>
  </a>
`;

/** @param {{ counts: Record<string, number>, total: number }} props */
export function StateBar({ counts, total }) {
  const states = ORDER.filter((state) => counts[state]);
  if (total === 0) return html`<p class="muted">No items yet.</p>`;
  return html`
    <div class="state-bar" aria-hidden="true">
      ${states.map((state) => html`<span class=${barTone(state)} style=${{ flexGrow: String(counts[state]) }}></span>`)}
    </div>
    <ul class="state-legend">
      ${states.map(
        (state) =>
          html`<li class=${barTone(state)}><strong>${count(counts[state] ?? 0)}</strong> ${labelOf(INDEXING_STATUS_TABLE, state)}</li>`,
      )}
    </ul>
  `;
}

/** The bar shows the two steps in their colours. @param {import('domain/content/states.js').IndexingStatus} state */
const barTone = (state) => (state === 'graph_creation' ? 'graph' : INDEXING_STATUS_TABLE[state].tone);

/** @param {{ activity: any }} props */
function Charts({ activity }) {
  const { attempts, interval_seconds, truncated } = activity.deliveries;
  const from = Date.parse(activity.from) / 1000;
  const to = Date.parse(activity.to) / 1000;
  if (attempts.length === 0) {
    return html`
      <section class="card"><h2>Callbacks</h2>
        <p class="muted">No attempts in this period. ${'Register a receiver with '}<code>POST /webhooks/indexing</code>${' or try '}<code>./postback listen --register</code>.</p>
      </section>
    `;
  }
  const times = attempts.map((/** @type {any} */ each) => Date.parse(each.at) / 1000);
  /** @param {string} name */
  const values = (name) => attempts.map((/** @type {any} */ each) => each[name]);
  // Intervals without attempts are gaps in the lines.
  const spaced = withGaps(times, interval_seconds);
  /** @param {string} name */
  const spacedValues = (name) => spaced.map(({ index }) => (index === null ? null : attempts[index][name]));
  return html`
    <div class="charts">
      <section class="card">
        <${TimeChart} label=${`Attempts at callbacks, per ${duration(interval_seconds * 1000)}`} bars times=${times} from=${from} to=${to} format=${short}
          series=${[
            { label: 'delivered', color: 'good', values: values('succeeded') },
            { label: 'failed', color: 'bad', values: values('failed') },
          ]} />
      </section>
      <section class="card">
        <${TimeChart} label="Response time of receivers" times=${spaced.map(({ time }) => time)} from=${from} to=${to} format=${duration}
          series=${[
            { label: 'half within', color: 'accent', values: spacedValues('p50_ms') },
            { label: '95 % within', color: 'warn', values: spacedValues('p95_ms') },
          ]} />
      </section>
    </div>
    ${truncated && html`<p class="muted">Only the newest 20,000 deliveries of the period are counted.</p>`}
  `;
}

/** @param {number[]} times @param {number} interval */
function withGaps(times, interval) {
  return times.flatMap((time, index) => {
    const before = times[index - 1];
    const point = { time, index: /** @type {number | null} */ (index) };
    return before !== undefined && time - before > interval * 4
      ? [{ time: before + interval, index: null }, point]
      : [point];
  });
}

/** @param {{ deliveries: Schemas['Delivery'][] | undefined }} props */
function Attention({ deliveries }) {
  if (!deliveries || deliveries.length === 0) return null;
  return html`
    <section class="card" aria-label="Needs attention">
      <h2>Needs attention</h2>
      <ul class="rows">
        ${[...byReceiver(deliveries)].map(
          ([receiver, [newest, ...others]]) => html`
            <li>
              <span class="grow">
                <b>${receiver}</b> <span class="muted">did not accept ${plural(others.length + 1, 'callback')}, the last </span><a href=${linkTo('deliveries', { id: newest.delivery_id })}>${newest.crew ?? newest.doc_id}</a><span class="muted">: ${newest.error_message ?? newest.error_code}</span>
              </span>
              <${Time} at=${newest.updated_at} />
            </li>
          `,
        )}
      </ul>
      <p><a href=${linkTo('deliveries', { status: 'permanently_failed' })}>All failed deliveries</a>, to retry one or all of them.</p>
    </section>
  `;
}

/**
 * A receiver that is down fails many deliveries.
 * @param {Schemas['Delivery'][]} deliveries newest first
 * @returns {Map<string, [Schemas['Delivery'], ...Schemas['Delivery'][]]>}
 */
function byReceiver(deliveries) {
  const groups = new Map();
  for (const delivery of deliveries) {
    // Only keys of a crew may read its receivers.
    const receiver = delivery.url ?? (delivery.crew ? `The receiver of ${delivery.crew}` : 'No receiver');
    groups.set(receiver, [...(groups.get(receiver) ?? []), delivery]);
  }
  return groups;
}

const FirstSteps = () => html`
  <section class="card">
    <${Empty} title="Nothing here yet. Index your first files:">
      <${Command}>./postback databases create library</${Command}>
      <${Command}>./postback ingest examples --database library --watch</${Command}>
      <p>Then ask them something on the page <a href=${linkTo('search')}>Search</a>. This page follows the work.</p>
    </${Empty}>
  </section>
`;

/** @param {unknown[]} values */
const sum = (values) => values.reduce((/** @type {number} */ total, value) => total + Number(value), 0);

/** @param {number} succeeded @param {number} failed */
function rate(succeeded, failed) {
  if (succeeded + failed === 0) return '–';
  const percent = (100 * succeeded) / (succeeded + failed);
  // 100 % only when nothing failed.
  return `${failed > 0 && percent > 99.9 ? '99.9' : percent.toFixed(percent === 100 ? 0 : 1)} %`;
}
