/** The part of the demo about AI jobs: a picture is read, and its callback goes to a receiver that fails at first. */
import { join } from 'node:path';
import { type ApiAccess, request } from '../api-client.js';
import { FileOnDisk } from '../remote/file-on-disk.js';
import { EXAMPLES } from './content.js';
import { type DemoReceiver, JOB_FAILURES } from './receiver.js';
import { printDone, printFailed, printHeading, printQuote } from './screen.js';
import { until } from './until.js';

const MODEL = 'ocr/ocr_async/tesseract';
const PICTURE = 'notice-board.png';

/** @returns the id of the job */
export async function startJob(api: ApiAccess, receiver: DemoReceiver): Promise<string> {
  const key = await fetch(`${api.apiUrl}/v3/ai/webhook-public-key`, {
    headers: { Authorization: `Bearer ${api.key}` },
  });
  receiver.publicKey = await key.text();
  const form = new FormData();
  form.set('file', new FileOnDisk(join(EXAMPLES, PICTURE)));
  const { file_id: file } = await request(api, 'POST', '/v3/upload', form);
  const job = { model: MODEL, input: { file }, webhook_receiver: `${receiver.url}/jobs` };
  return (await request(api, 'POST', '/v3/ai/async', job)).job_id;
}

export async function showJob(api: ApiAccess, receiver: DemoReceiver, jobId: string): Promise<void> {
  printHeading(`AI job: read ${PICTURE}`, `${MODEL}; the receiver of its callback fails ${JOB_FAILURES} times`);
  const callback = await until('the callback of the job', () => receiver.jobs.find(({ job_id }) => job_id === jobId));
  const { deliveries } = await until('the record of the callback', async () => {
    const page = await request(api, 'GET', `/v3/ai/callbacks?doc_id=${jobId}&status=delivered`);
    return page.deliveries.length > 0 && page;
  });
  const { attempt_log } = await request(api, 'GET', `/v3/ai/callbacks/${deliveries[0].delivery_id}`);
  for (const [index, { status_code }] of attempt_log.entries()) {
    const text = `attempt ${index + 1}: the receiver responded with ${status_code}`;
    if (status_code < 300) printDone(`${text}, RSA signature verified`);
    else printFailed(`${text}, retried when its Retry-After is over`);
  }
  if (callback.status === 'fail') throw new Error(`the job failed: ${callback.error.message}`);
  printQuote('what the picture says', String(callback.output.text), 2);
}
