import { readdirSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { expect } from '@jest/globals';
import type { Collections } from '../../storage/collections.js';
import { scan, scannedPdf } from '../fixtures/scanned-files.js';
import type { CrashProduct, InterruptedWork } from '../support/crash-product.js';
import { eventually } from '../support/eventually.js';
import { createJobClient, type JobClient, type JobResponse } from '../support/job-client.js';
import { testCollections } from '../support/mongodb.js';
import { makeKey } from '../support/product.js';

/** An OCR job over a PDF of scanned pages. */
export function scanJob({ product }: CrashProduct): InterruptedWork {
  const words = ['one', 'two', 'three', 'four', 'five'];
  const killed = product.worker.pid();
  let api: JobClient;
  let collections: Collections;
  let submitted: JobResponse;
  let readBefore: { value: string }[];
  const owner = () => submitted.body.job_id as string;
  /** The killed worker's temporary folders. */
  const folders = () => readdirSync(tmpdir()).filter((name) => name.split('.')[2] === String(killed));
  return {
    async begin() {
      const pages = words.map((word) => scan([`This is page ${word} of the log`, 'The lamp was lit at dusk']));
      const content = scannedPdf(await Promise.all(pages));
      collections = await testCollections(product.mongodbUri);
      api = createJobClient(product.apiUrl, (await makeKey(product.mongodbUri, 'scan-job')).key);
      const upload = await api.upload('log.pdf', content);
      submitted = await api.submit('ocr/ocr_async/tesseract', { file: upload.body.file_id });
      await eventually('some pages read', async () => {
        readBefore = await collections.checkpoints.find({ owner: owner() }).toArray();
        return readBefore.length >= 2;
      });
      expect(folders()).not.toEqual([]);
    },
    async expectToComplete() {
      const finished = await api.finished(submitted);
      expect(finished).toMatchObject({ status: 'success', output: { number_of_pages: words.length } });
      expect(finished.output.pages.map(({ text }: { text: string }) => /page (\w+)/.exec(text)?.[1])).toEqual(words);
      // Pages that were read before are in the result unchanged, and their checkpoints are deleted.
      for (const { value } of readBefore) expect(finished.output.pages).toContainEqual(JSON.parse(value));
      await eventually(
        'checkpoints removed',
        async () => (await collections.checkpoints.countDocuments({ owner: owner() })) === 0,
      );
      expect(folders()).toEqual([]);
      await collections.mongoClient.close();
    },
  };
}
