import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DEFAULT_LIMITS } from '../../providers/extraction/limits.js';
import { createPageReader, type PageReader } from '../../providers/extraction/ocr/page-reader.js';
import { findModels } from '../../providers/extraction/ocr/second/models.js';
import { defaultCacheDir } from '../../runtime/cache-dir.js';
import { type DamagedPage, damagedPages } from '../../test/fixtures/damaged-pages.js';
import { scannedPdf } from '../../test/fixtures/scanned-files.js';
import { characterErrors } from '../../test/support/character-errors.js';

interface Reading {
  errors: number;
  seconds: number;
  confidence: number;
}

/**
 * Reads twenty made pages by OCR, and prints the share of wrong characters and the seconds of a page, by the kind of damage:
 * by Tesseract alone, and with the second recogniser where `postback recogniser fetch` has fetched it.
 */
export async function ocr(): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'postback-ocr-'));
  const languagesDir = join(defaultCacheDir(process.env), 'languages');
  const start = (languagesDir: string) => createPageReader({ processes: 1, timeoutMs: 120_000, languagesDir });
  const readers = new Map([['Tesseract', start(folder)]]);
  if (await findModels(languagesDir)) readers.set('with the second recogniser', start(languagesDir));
  else console.log('Without the second recogniser: `postback recogniser fetch`.');
  const readings = new Map<string, Map<string, Reading[]>>();
  try {
    for (const page of await damagedPages(await readFile('test/fixtures/harbour-article.txt', 'utf8'))) {
      const path = join(folder, 'page.pdf');
      await writeFile(path, scannedPdf([page]));
      for (const [name, reader] of readers) {
        const reading = await read(reader, path, page);
        const ofKind = readings.get(page.kind) ?? new Map<string, Reading[]>();
        readings.set(page.kind, ofKind.set(name, [...(ofKind.get(name) ?? []), reading]));
        const { errors, seconds, confidence } = reading;
        console.log(
          `${page.kind}, ${name}: ${percent(errors)} wrong, ${seconds.toFixed(1)} s, confidence ${confidence}`,
        );
      }
    }
  } finally {
    await Promise.all([...readers.values()].map((reader) => reader.close()));
    await rm(folder, { recursive: true, force: true });
  }
  const names = [...readers.keys()];
  console.log(`\n| pages | ${names.map((name) => `${name}: wrong characters | seconds a page`).join(' | ')} |`);
  console.log(`| --- |${' --- | --- |'.repeat(names.length)}`);
  for (const [kind, ofKind] of readings) {
    const cells = names.flatMap((name) => {
      const own = ofKind.get(name)!;
      return [percent(mean(own.map(({ errors }) => errors))), mean(own.map(({ seconds }) => seconds)).toFixed(1)];
    });
    console.log(`| ${kind} | ${cells.join(' | ')} |`);
  }
}

async function read(reader: PageReader, path: string, { text }: DamagedPage): Promise<Reading> {
  const started = performance.now();
  const [page] = await reader.read({ path, kind: 'pdf' }, { limits: DEFAULT_LIMITS }, new AbortController().signal);
  const seconds = (performance.now() - started) / 1_000;
  return { errors: characterErrors(page!.text, text), seconds, confidence: page!.confidence };
}

const mean = (numbers: readonly number[]) => numbers.reduce((sum, number) => sum + number, 0) / numbers.length;
const percent = (share: number) => `${(share * 100).toFixed(2)} %`;
