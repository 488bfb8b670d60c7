import { UNFINISHED_JOB_STATUSES } from 'domain/ai-jobs/states.js';
import { INDEXING_STATUS_TABLE, UNFINISHED_INDEXING_STATUSES } from 'domain/content/states.js';
import { TimeChart } from '../charts.js';
import { count, duration, plural, short } from '../format.js';
import { html } from '../html.js';
import { useGet, useLive } from '../live.js';
import { Failures, loadFailures } from '../overview/failures.js';
import { Examples, FirstSteps } from '../overview/first-steps.js';
import { useWaiting, WaitingSummary } from '../overview/waiting.js';
import { change, linkTo } from '../router.js';
import { session } from '../session.js';
import { Loading, labelOf, Page, Problem, Segmented } from '../ui.js';

const PERIODS = [
  ['1', 'Hour'],
  ['24', 'Day'],
  ['168', 'Week'],
];
/** Of the bar: from what is done to what is not begun, then what failed. */
const ORDER = /** @type {const} */ (['completed', ...UNFINISHED_INDEXING_STATUSES.toReversed(), 'errored']);

/** What a person needs to know first: what fails, what waits for a person, how fast. @param {{ parameters: Record<string, string> }} props */
export function Overview({ parameters: { hours = '24' } }) {
  const hasKey = session.key('api') !== null;
  const waiting = useWaiting();
  const period = html`
    <${Segmented} label="Period" value=${hours} options=${PERIODS} onChange=${(/** @type {string} */ value) => change({ hours: value })} />
  `;
  return html`
    <${Page} title="Overview" actions=${hasKey && period}>
      ${hasKey ? html`<${Now} hours=${hours} waiting=${waiting} />` : html`<${WithoutKey} waiting=${waiting} />`}
    </${Page}>
  `;
}

/** For keys of crews and payments. @param {{ waiting: ReturnType<typeof useWaiting> }} props */
const WithoutKey = ({ waiting }) => html`
  <${WaitingSummary} waiting=${waiting} />
  ${waiting.data?.outputs.length === 0 && html`<section class="card"><p>Nothing waits for you.</p></section>`}
  <section class="card"><p class="muted">Items, jobs and deliveries are shown with a key of kind <code>api</code>: <a href=${linkTo('items')}>add one</a>.</p></section>
`;

/** @param {{ hours: string, waiting: ReturnType<typeof useWaiting> }} props */
function Now({ hours, waiting }) {
  const activity = useGet(`/usage/activity?hours=${Number(hours)}`, 10_000);
  const failures = useLive(loadFailures, [], 20_000);
  const refresh = () => Promise.all([activity.refresh(), failures.refresh(), waiting.refresh()]);
  const { data } = activity;
  const outputs = waiting.data?.outputs ?? [];
  const failed = failures.data ?? [];
  return html`
    <${Problem} error=${activity.error ?? failures.error} retry=${refresh} />
    ${!data && !activity.error && html`<${Loading} />`}
    ${data && html`<${Examples} onChanged=${refresh} />`}
    ${data && isEmpty(data) && html`<${FirstSteps} onChanged=${refresh} />`}
    ${
      data &&
      (!isEmpty(data) || outputs.length > 0 || failed.length > 0) &&
      html`
        <div class="overview-now">
          ${failed.length > 0 && html`<${Failures} failures=${failed} />`}
          <${WaitingSummary} waiting=${waiting} />
        </div>
        ${failures.data?.length === 0 && waiting.data && outputs.length === 0 && html`<p class="all-well"><span class="state good">Nothing fails, and nothing waits for you.</span></p>`}
      `
    }
    ${data && !isEmpty(data) && html`<${Activity} activity=${data} />`}
  `;
}

/** @param {any} activity */
const isEmpty = ({ items, jobs, deliveries }) =>
  sum(Object.values(items.by_status)) === 0 &&
  deliveries.attempts.length === 0 &&
  Object.keys(jobs.by_status).length === 0;

/** @param {{ activity: any }} props */
function Activity({ activity }) {
  const { items, jobs, deliveries } = activity;
  const total = sum(Object.values(items.by_status));
  const succeeded = sum(deliveries.attempts.map((/** @type {any} */ each) => each.succeeded));
  const failed = sum(deliveries.attempts.map((/** @type {any} */ each) => each.failed));
  const inProgress = sum(UNFINISHED_INDEXING_STATUSES.map((status) => items.by_status[status] ?? 0));
  const running = sum(UNFINISHED_JOB_STATUSES.map((status) => jobs.by_status[status] ?? 0));
  return html`
    <div class="tiles">
      <${Tile} href=${linkTo('items')} label="Items" value=${`${short(total)}${items.truncated ? '+' : ''}`}
        note=${inProgress > 0 ? `${count(inProgress)} in progress` : items.by_status.errored ? `${count(items.by_status.errored)} failed` : total === 0 ? 'none yet' : 'all indexed'}
        tone=${inProgress > 0 ? 'busy' : items.by_status.errored ? 'bad' : total === 0 ? 'idle' : 'good'} />
      <${Tile} href=${linkTo('deliveries')} label="Attempts delivered" value=${rate(succeeded, failed)}
        note=${`${short(succeeded)} of ${plural(succeeded + failed, 'attempt')}`}
        tone=${succeeded + failed === 0 ? 'idle' : failed > succeeded / 10 ? 'bad' : failed > 0 ? 'warn' : 'good'} />
      <${ResponseTime} deliveries=${deliveries} />
      <${Tile} href=${linkTo('jobs')} label="Jobs running" value=${count(running)}
        note=${`${count(jobs.by_status.success ?? 0)} succeeded, ${count(jobs.by_status.fail ?? 0)} failed`}
        tone=${running > 0 ? 'busy' : jobs.by_status.fail ? 'warn' : 'idle'} />
    </div>
    <section class="card" aria-label="Items by state">
      <h2>Items by state</h2>
      <${StateBar} counts=${items.by_status} total=${total} />
    </section>
    <${Charts} activity=${activity} />
  `;
}

/** How fast receivers were in the last interval with attempts. @param {{ deliveries: any }} props */
function ResponseTime({ deliveries: { attempts, interval_seconds } }) {
  const latest = attempts.at(-1);
  const note = latest
    ? `95 % within ${duration(latest.p95_ms)}, in ${duration(interval_seconds * 1000)}`
    : 'no attempt in this period';
  return html`<${Tile} href=${linkTo('deliveries')} label="Receivers respond in" value=${latest ? duration(latest.p50_ms) : '–'} note=${note} tone="idle" />`;
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
function StateBar({ counts, total }) {
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
    <div class="halves">
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

/** @param {unknown[]} values */
const sum = (values) => values.reduce((/** @type {number} */ total, value) => total + Number(value), 0);

/** @param {number} succeeded @param {number} failed */
function rate(succeeded, failed) {
  if (succeeded + failed === 0) return '–';
  const percent = (100 * succeeded) / (succeeded + failed);
  // 100 % only when nothing failed.
  return `${failed > 0 && percent > 99.9 ? '99.9' : percent.toFixed(percent === 100 ? 0 : 1)} %`;
}
