import { JOB_STATUS_TABLE } from 'domain/ai-jobs/states.js';
import { isFinalState } from 'domain/state-machine.js';
import { DELIVERY_STATE_TABLE } from 'domain/webhooks/states.js';
import { call, withQuery } from '../api.js';
import { DeliveryRows } from '../delivery-rows.js';
import { duration } from '../format.js';
import { html } from '../html.js';
import { NewJob } from '../jobs/new-job.js';
import { JobResult } from '../jobs/result.js';
import { List, useList } from '../list.js';
import { useAction, useGet, useLive } from '../live.js';
import { jobSamples, RequestSamples } from '../request-samples.js';
import { linkTo } from '../router.js';
import * as ui from '../ui.js';

/** @typedef {import('../api.js').Schemas} Schemas */

const STATES = ui.stateChoices(JOB_STATUS_TABLE);

/** @param {{ parameters: Record<string, string> }} props */
export const Jobs = ({ parameters }) =>
  parameters.new === undefined
    ? html`<${JobList} parameters=${parameters} />`
    : html`<${NewJob} parameters=${parameters} />`;

const NEW_JOB = linkTo('jobs', { new: 'any' });

/** @param {{ parameters: Record<string, string> }} props */
function JobList({ parameters: { status = '', id } }) {
  const list = useList('/v3/ai/async', { status, limit: 25 }, 3_000);
  /** @type {import('../list.js').Column<Schemas['JobSummary']>[]} */
  const columns = [
    {
      title: 'Job',
      cell: (job) =>
        html`<span class="clipped">${job.subject ?? nameOf(job)}</span><small>${job.subject && `${nameOf(job)}, `}${job.feature} by ${[job.provider, job.model].filter(Boolean).join('/')}</small>`,
    },
    { title: 'State', cell: (job) => html`<${ui.State} of=${JOB_STATUS_TABLE} state=${job.status} />` },
    { title: 'Took', className: 'wide number', cell: (job) => tookOf(job) },
    { title: 'Submitted', className: 'number', cell: (job) => html`<${ui.Time} at=${job.created_at} />` },
  ];
  return html`
    <${ui.Page} title="Jobs" actions=${html`<a class="button primary" href=${NEW_JOB}>New job</a>`}>
      <div class="filters">
        <${ui.Filter} label="State" name="status" value=${status} options=${STATES} />
      </div>
      <${List} label="Jobs" list=${list} rows=${list.data?.jobs} columns=${columns} id="job_id" open=${id}
        filtered=${status !== '' && 'No job is in this state.'} all=${linkTo('jobs')} empty=${html`<${NoJobs} />`} />
      ${id && html`<${JobDrawer} key=${id} id=${id} onChanged=${list.refresh} />`}
    </${ui.Page}>
  `;
}

const NoJobs = () => html`
  <${ui.Empty} title="No AI jobs yet. A job reads the text of a scan, summarises a text, finds its names, and more.">
    <p><a class="button primary" href=${NEW_JOB}>New job</a></p>
    <p>In a terminal:</p>
    <${ui.Command}>./postback jobs run ocr/ocr_async/tesseract examples/notice-board.png --wait</${ui.Command}>
  </${ui.Empty}>
`;

/** @param {unknown} file */
const isUpload = (file) => typeof file === 'string' && file.startsWith('fil_');

/** @param {{ subfeature: string }} job */
const nameOf = ({ subfeature }) => subfeature.replace(/_async$/, '').replaceAll('_', ' ');

/** @param {{ created_at: string, finished_at?: string }} job */
const tookOf = ({ created_at, finished_at }) =>
  finished_at ? duration(Date.parse(finished_at) - Date.parse(created_at)) : '–';

/** @param {{ id: string, onChanged: () => Promise<void> }} props */
function JobDrawer({ id, onChanged }) {
  const path = `/v3/ai/async/${encodeURIComponent(id)}`;
  const job = useLive(
    async (signal) => {
      const found = /** @type {Schemas['Job']} */ (await call('GET', path, { signal }));
      const { deliveries } = await call('GET', withQuery('/v3/ai/callbacks', { doc_id: id, limit: 5 }), { signal });
      return { found, callbacks: /** @type {Schemas['Delivery'][]} */ (deliveries) };
    },
    [id],
    (data) => {
      if (!data?.found.finished_at) return 1_500;
      // The callback is sent after the job has ended.
      return data.callbacks.every(({ status }) => isFinalState(DELIVERY_STATE_TABLE, status)) ? 0 : 4_000;
    },
  );
  /** @type {import('../live.js').Live<Schemas['JobInput']>} */
  const request = useGet(`${path}/input`, 0);
  const { data } = job;
  const cancel = useAction(() => call('DELETE', path), job.refresh, onChanged);
  const actions = html`
    <${ui.WorkflowLink} attributes=${{ PostbackSource: id }} />
    ${data && !data.found.finished_at && html`<${ui.ActionButton} run=${cancel.run}>Cancel job</${ui.ActionButton}>`}
  `;
  return html`
    <${ui.Drawer} wide name="Job" title=${data ? nameOf(data.found) : 'Job'} record=${job} error=${cancel.error} actions=${actions}>
      ${data && html`<${JobDetails} job=${data.found} callbacks=${data.callbacks} request=${request.data} />`}
    </${ui.Drawer}>
  `;
}

/** @param {{ job: Schemas['Job'], callbacks: Schemas['Delivery'][], request: Schemas['JobInput'] | undefined }} props */
function JobDetails({ job, callbacks, request }) {
  return html`
    ${job.error && html`<div class="problem tall" role="alert"><span>${job.error.message}</span></div>`}
    <${ui.Facts} entries=${[
      ['State', html`<${ui.State} of=${JOB_STATUS_TABLE} state=${job.status} />`],
      ['Of', job.subject],
      ['Model', html`<code>${[job.feature, job.subfeature, job.provider, job.model].filter(Boolean).join('/')}</code>`],
      ['Submitted', html`<${ui.Time} at=${job.created_at} />`],
      ['Took', job.finished_at && tookOf(job)],
      ['Job', html`<code>${job.job_id}</code>`],
    ]} />
    ${job.output !== undefined && html`<h3>Result</h3><${JobResult} job=${job} input=${request?.input} />`}
    ${job.user_parameters != null && html`<h3>Your parameters</h3><${ui.Json} label="Your parameters" value=${job.user_parameters} />`}
    ${
      request &&
      html`<h3>The same request</h3><${RequestSamples} samples=${jobSamples({ ...request, ...(isUpload(request.input.file) ? { filename: job.subject ?? 'file' } : {}) })} />`
    }
    <h3>Callback</h3>
    ${
      callbacks.length === 0
        ? html`<p class="muted">None: the job has no receiver, or has not finished.</p>`
        : html`<${DeliveryRows} deliveries=${callbacks} nameOf=${() => 'Delivery'} kind="job" />`
    }
  `;
}
