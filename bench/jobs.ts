import { setTimeout as wait } from 'node:timers/promises';
import { connectTemporal } from '../temporal/connection.js';
import { scan, scannedPdf } from '../test/fixtures/scanned-files.js';
import { request } from './api-client.js';
import { type BenchInstance, startBenchInstance } from './instance.js';
import { sideBySide } from './side-by-side.js';
import { measureBare } from './throughput.js';

const JOBS = 400;
const CONCURRENCY = 50;
const OCR_PAGES = 24;
const LINES_PER_PAGE = 30;

/** AI jobs a second with a provider that has next to nothing to do, and pages of OCR a minute. */
export async function jobs(): Promise<void> {
  const instance = await startBenchInstance();
  const temporal = await connectTemporal(instance.temporalAddress, 'default');
  try {
    await measureJobs(instance, 40); // Warm: threads, models, caches.
    const bareRate = await measureBare(instance, temporal);
    const jobRate = await measureJobs(instance, JOBS);
    console.log(`bare workflows   ${bareRate.toFixed(1)} /s`);
    console.log(
      `jobs             ${jobRate.toFixed(1)} /s   ratio to bare ${(jobRate / bareRate).toFixed(2)}   (submitted over HTTP to stored result)`,
    );
    const before = instance.peakMemory();
    const pages = await measureOcr(instance);
    const after = instance.peakMemory();
    console.log(`OCR              ${pages.toFixed(1)} pages a minute of ${LINES_PER_PAGE} lines`);
    console.log(`memory at its peak: API ${after.api} MiB, worker ${after.worker} MiB (${before.worker} before OCR)`);
  } finally {
    await temporal.connection.close();
    await instance.stop();
  }
}

async function measureJobs(instance: BenchInstance, count: number): Promise<number> {
  const input = { text: 'The lamp was lit at dusk, and the keeper was content.' };
  const done = await finishedJobs(instance);
  const started = performance.now();
  await sideBySide(count, CONCURRENCY, () => post(instance, 'text/language_detection/eld', input));
  await untilFinished(instance, done + count);
  return count / ((performance.now() - started) / 1000);
}

async function measureOcr(instance: BenchInstance): Promise<number> {
  const sentence = 'The keeper of the lighthouse wrote the weather of the day into the log';
  const pages = await Promise.all(
    Array.from({ length: OCR_PAGES }, (_, page) =>
      scan(Array.from({ length: LINES_PER_PAGE }, (_, line) => `${page + 1}.${line + 1} ${sentence}`)),
    ),
  );
  const form = new FormData();
  form.append('file', new Blob([scannedPdf(pages) as Uint8Array<ArrayBuffer>]), 'log.pdf');
  const { file_id } = await request(instance, 'POST', '/v3/upload', form);
  const done = await finishedJobs(instance);
  const started = performance.now();
  await post(instance, 'ocr/ocr_async/tesseract', { file: file_id });
  await untilFinished(instance, done + 1);
  return OCR_PAGES / ((performance.now() - started) / 60_000);
}

const finishedJobs = (instance: BenchInstance) => instance.collections.aiJobs.countDocuments({ status: 'success' });

async function untilFinished(instance: BenchInstance, count: number): Promise<void> {
  while ((await finishedJobs(instance)) < count) await wait(50);
}

const post = (instance: BenchInstance, model: string, input: object) =>
  request(instance, 'POST', '/v3/ai/async', { model, input });
