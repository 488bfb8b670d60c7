import { bytes, count } from '../format.js';
import { html } from '../html.js';
import { useGet } from '../live.js';
import { Loaded, Page, Time } from '../ui.js';

/** What each quota counts. */
const QUOTAS = /** @type {[name: string, label: string, note: string][]} */ ([
  ['stored_bytes', 'Storage', 'files and texts of items, and uploads'],
  ['items', 'Items', 'of all databases'],
  ['databases', 'Databases', 'until their deletion has finished'],
  ['connectors', 'Connectors', ''],
  ['queued_jobs', 'Jobs', 'that have not finished'],
  ['running_crews', 'Crews', 'executions that have not finished or wait for a person'],
  ['uploads', 'Uploads', 'for jobs, until they expire'],
  ['model_tokens', 'Model tokens', 'today (UTC)'],
]);

export function Usage() {
  const usage = useGet('/usage', 10_000);
  const { data } = usage;
  return html`
    <${Page} title="Usage" lead="What your organisation uses, and its limits. Deleting records gives their use back.">
      <${Loaded} of=${usage} retry=${usage.refresh} />
      ${data && html`<div class="quotas">${QUOTAS.map(([name, label, note]) => html`<${Quota} label=${label} note=${note} quota=${data[name]} isBytes=${name === 'stored_bytes'} />`)}</div>`}
      ${data && html`<p class="muted">Operators set limits with <code>./postback orgs limits</code>. Model tokens start again <${Time} at=${data.model_tokens.resets_at} />.</p>`}
    </${Page}>
  `;
}

/** @param {{ label: string, note: string, quota: { used: number, limit: number | null }, isBytes: boolean }} props */
function Quota({ label, note, quota: { used, limit }, isBytes }) {
  const show = isBytes ? bytes : count;
  const share = limit ? used / limit : 0;
  const tone = share >= 1 ? 'bad' : share >= 0.8 ? 'warn' : '';
  return html`
    <section class="card quota" aria-label=${label}>
      <h2>${label}</h2>
      <p><strong>${show(used)}</strong> <span class="muted">${limit === null ? 'no limit' : `of ${show(limit)}`}</span></p>
      ${limit !== null && html`<progress class=${tone} max=${Math.max(1, limit)} value=${Math.min(used, Math.max(1, limit))} aria-label=${`${label}: share of the limit`}></progress>`}
      <small class="muted">${note}</small>
    </section>
  `;
}
