import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DEFAULT_LIMITS } from '../../providers/extraction/limits.js';
import { createPageReader } from '../../providers/extraction/ocr/page-reader.js';
import { defaultCacheDir } from '../../runtime/cache-dir.js';
import { damagedPages } from '../../test/fixtures/damaged-pages.js';
import { scannedPdf } from '../../test/fixtures/scanned-files.js';
import { characterErrors } from '../../test/support/character-errors.js';

/** Reads twenty made pages by OCR, and prints the share of wrong characters and the seconds of a page, by the kind of damage. */
export async function ocr(): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'postback-ocr-'));
  const languagesDir = join(defaultCacheDir(process.env), 'languages');
  const reader = createPageReader({ processes: 1, timeoutMs: 120_000, languagesDir });
  const kinds = new Map<string, { errors: number[]; seconds: number[] }>();
  try {
    for (const page of await damagedPages(await readFile('test/fixtures/harbour-article.txt', 'utf8'))) {
      const path = join(folder, 'page.pdf');
      await writeFile(path, scannedPdf([page]));
      const started = performance.now();
      const [read] = await reader.read({ path, kind: 'pdf' }, { limits: DEFAULT_LIMITS }, new AbortController().signal);
      const seconds = (performance.now() - started) / 1_000;
      const errors = characterErrors(read!.text, page.text);
      const own = kinds.get(page.kind) ?? { errors: [], seconds: [] };
      kinds.set(page.kind, own);
      own.errors.push(errors);
      own.seconds.push(seconds);
      console.log(`${page.kind}: ${percent(errors)} wrong, ${seconds.toFixed(1)} s, confidence ${read!.confidence}`);
    }
  } finally {
    await reader.close();
    await rm(folder, { recursive: true, force: true });
  }
  console.log('\n| pages | wrong characters | seconds a page |\n| --- | --- | --- |');
  for (const [kind, { errors, seconds }] of kinds)
    console.log(`| ${kind} | ${percent(mean(errors))} | ${mean(seconds).toFixed(1)} |`);
}

const mean = (numbers: readonly number[]) => numbers.reduce((sum, number) => sum + number, 0) / numbers.length;
const percent = (share: number) => `${(share * 100).toFixed(2)} %`;
