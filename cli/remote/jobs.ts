import { setTimeout as wait } from 'node:timers/promises';
import { bodyOf, multipart, type Postback, type Schemas } from '../../client/index.js';
import { JOB_STATUS_TABLE } from '../../domain/ai-jobs/states.js';
import { FileOnDisk } from './file-on-disk.js';
import { fields, localTime, paintState, print, table } from './output.js';
import { findServer, listOf, type ServerOptions } from './server.js';

interface RunOptions extends ServerOptions {
  text?: string;
  /** Further fields of the job's `input`. */
  input?: Record<string, unknown>;
  webhook?: string;
  /** Static headers of the callback. */
  header?: Record<string, string>;
  wait?: boolean;
}

const POLL_MS = 300;

/**
 * `postback jobs run`: submits a job, with `--wait` until its result. The exit code is 1 when the job failed.
 * @param model `<feature>/<subfeature>/<provider>`, as `postback jobs models` lists them
 */
export async function runJob(model: string, file: string | undefined, options: RunOptions): Promise<void> {
  const { text, input, webhook, header } = options;
  const client = findServer(options).client();
  const file_id = file === undefined ? undefined : await upload(client, file);
  const job = await bodyOf(
    client.POST('/v3/ai/async', {
      body: {
        model,
        input: { ...input, ...(file_id && { file: file_id }), ...(text !== undefined && { text }) },
        webhook_receiver: webhook,
        webhook_headers: header,
      },
    }),
  );
  if (options.wait) return printJob(await ended(client, job.job_id), options);
  print({ ...options, next: ['jobs', 'show', job.job_id] }, job, () => job.job_id);
}

/** `postback jobs show` */
export async function showJob(job_id: string, options: ServerOptions): Promise<void> {
  printJob(await getJob(findServer(options).client(), job_id), options);
}

/** `postback jobs list` */
export async function listJobs({ limit, ...options }: ServerOptions & { limit: number }): Promise<void> {
  const client = findServer(options).client();
  const page = (cursor?: string) => bodyOf(client.GET('/v3/ai/async', { params: { query: { cursor } } }));
  const jobs = await listOf('jobs', page, limit);
  const rows = jobs.map((job) => ({
    job: job.job_id,
    of: job.subject,
    model: modelOf(job),
    status: paintState(JOB_STATUS_TABLE, job.status),
    created: localTime(job.created_at),
    error: job.error?.message,
  }));
  const [newest] = jobs;
  print({ ...options, next: newest && ['jobs', 'show', newest.job_id] }, { jobs }, () => table(rows));
}

/** `postback jobs cancel` */
export async function cancelJob(job_id: string, options: ServerOptions): Promise<void> {
  const client = findServer(options).client();
  const result = await bodyOf(client.DELETE('/v3/ai/async/{job_id}', { params: { path: { job_id } } }));
  print({ ...options, next: ['jobs', 'show', job_id] }, result, () => `${job_id} is being cancelled.`);
}

/** `postback jobs models` */
export async function listModels(options: ServerOptions): Promise<void> {
  const { models } = await bodyOf(findServer(options).client().GET('/v3/ai/models'));
  const rows = models.map(({ model, takes, summary }) => ({ model, takes, '': summary }));
  const sample = 'text/language_detection/eld';
  const runs = models.some(({ model }) => model === sample);
  const next = runs && ['jobs', 'run', sample, '--text', 'Guten Morgen, liebe Leute', '--wait'];
  print({ ...options, next }, { models }, () => table(rows));
}

/** @returns the id of the upload */
export async function upload(client: Postback, path: string): Promise<string> {
  const body = { file: new FileOnDisk(path) };
  return (await bodyOf(client.POST('/v3/upload', { body, bodySerializer: multipart }))).file_id;
}

const getJob = (client: Postback, job_id: string) =>
  bodyOf(client.GET('/v3/ai/async/{job_id}', { params: { path: { job_id } } }));

async function ended(client: Postback, job_id: string): Promise<Schemas['Job']> {
  for (;;) {
    const job = await getJob(client, job_id);
    if (job.status === 'success' || job.status === 'fail') return job;
    await wait(POLL_MS);
  }
}

const modelOf = ({ feature, subfeature, provider }: Pick<Schemas['Job'], 'feature' | 'subfeature' | 'provider'>) =>
  `${feature}/${subfeature}/${provider}`;

function printJob(job: Schemas['Job'], options: ServerOptions): void {
  const ended = job.status === 'success' || job.status === 'fail';
  print({ ...options, next: ['jobs', ...(ended ? ['list'] : ['show', job.job_id])] }, job, () => {
    const details = fields({
      job: job.job_id,
      of: job.subject,
      model: modelOf(job),
      status: paintState(JOB_STATUS_TABLE, job.status),
      finished: localTime(job.finished_at ?? null),
      error: job.error?.message,
    });
    return job.output === undefined ? details : `${details}\n\n${JSON.stringify(job.output, null, 2)}`;
  });
  if (job.status === 'fail') process.exitCode = 1;
}
