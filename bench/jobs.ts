import { setTimeout as wait } from 'node:timers/promises';
import { connectTemporal } from '../temporal/connection.js';
import { scan, scannedPdf } from '../test/fixtures/scanned-files.js';
import { request } from './support/api-client.js';
import { measureBare } from './support/bare.js';
import { type BenchInstance, startBenchInstance } from './support/instance.js';
import { perSecond, runConcurrently } from './support/measure.js';
import { submitShortJob } from './support/work.js';

const JOBS = 400;
const CONCURRENCY = 50;
const OCR_PAGES = 24;
const LINES_PER_PAGE = 30;

/** Measures AI jobs per second with a provider that does almost nothing, and pages of OCR per minute. */
export async function jobs(): Promise<void> {
  const instance = await startBenchInstance();
  const temporal = await connectTemporal(instance.temporalAddress, 'default');
  try {
    await measureJobs(instance, 40); // Warm-up: threads, models, caches.
    const bareRate = await measureBare(instance, temporal);
    const jobRate = await measureJobs(instance, JOBS);
    console.log(`bare workflows   ${bareRate.toFixed(1)} /s`);
    console.log(
      `jobs             ${jobRate.toFixed(1)} /s   ratio to bare ${(jobRate / bareRate).toFixed(2)}   (from request to stored result)`,
    );
    const before = instance.peakMemory();
    const pages = await measureOcr(instance);
    const after = instance.peakMemory();
    console.log(`OCR              ${pages.toFixed(1)} pages a minute of ${LINES_PER_PAGE} lines`);
    console.log(`peak memory      API ${after.api} MiB, worker ${after.worker} MiB (${before.worker} before OCR)`);
  } finally {
    await temporal.connection.close();
    await instance.stop();
  }
}

async function measureJobs(instance: BenchInstance, count: number): Promise<number> {
  const finishedBefore = await countFinished(instance);
  return perSecond(count, async () => {
    await runConcurrently(count, CONCURRENCY, () => submitShortJob(instance));
    await untilFinished(instance, finishedBefore + count);
  });
}

/** @returns pages per minute */
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
  const finishedBefore = await countFinished(instance);
  const rate = await perSecond(OCR_PAGES, async () => {
    const job = { model: 'ocr/ocr_async/tesseract', input: { file: file_id } };
    await request(instance, 'POST', '/v3/ai/async', job);
    await untilFinished(instance, finishedBefore + 1);
  });
  return rate * 60;
}

const countFinished = (instance: BenchInstance) => instance.collections.aiJobs.countDocuments({ status: 'success' });

async function untilFinished(instance: BenchInstance, count: number): Promise<void> {
  while ((await countFinished(instance)) < count) await wait(50);
}
