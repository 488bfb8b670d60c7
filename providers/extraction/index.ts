import { stat } from 'node:fs/promises';
import { type Checkpoints, noCheckpoints } from '../../domain/checkpoints.js';
import { type Chunk, chunkSections } from '../../domain/content/chunking.js';
import { type ExtractedSection, type Extraction, ExtractionError, type FileKind } from '../../domain/extraction.js';
import type { OcrLanguage } from '../../domain/ocr-languages.js';
import { createProcessPool } from '../isolation/pool.js';
import { checkText, DEFAULT_LIMITS, type ExtractionLimits } from './limits.js';
import { createPageReader, type PageReader, type PageReaderOptions, type ReadPagesOptions } from './ocr/page-reader.js';
import type { ScannedFile } from './ocr/picture.js';
import { extractText } from './plain-text.js';
import { runOnFile } from './run-on-file.js';
import type { ExtractionOutcome, ExtractionPart, ExtractionTask, PageText } from './worker.js';

export { describeFile, detectFileKind } from './detect-kind.js';
export type { ExtractionLimits } from './limits.js';

export interface ExtractorOptions {
  /** Documents parsed at the same time. Each process takes about 130 MB. */
  processes?: number;
  /** Heap of one process in MiB. */
  memoryMb?: number;
  /** For one file, without its scanned pages and without waiting for a process. */
  timeoutMs?: number;
  /** Scanned pages read at the same time, over all items and AI jobs. Each takes a core and about 300 MB. */
  ocrProcesses?: number;
  /** For one scanned page, without waiting for a process. */
  ocrPageTimeoutMs?: number;
  /** Holds the data of OCR languages other than English. */
  languagesDir: string;
  /** How long an idle process waits for the next file or page. */
  idleMs?: number;
  /** Hears of failures that do not fail a file. */
  log?: PageReaderOptions['log'];
  limits?: Partial<ExtractionLimits>;
}

export interface ExtractionSource {
  /** On the local disk. */
  path: string;
  /** `item-text`: UTF-8 that is used as it is. */
  kind: FileKind | 'item-text';
  /** Language of its scanned pages; `en` when left out. */
  language?: OcrLanguage | undefined;
  /** Whose file it is: organisations whose files wait for a process take turns. */
  org?: string | undefined;
}

export interface Extractor {
  /**
   * Extracts a document's text by page, slide, sheet or heading.
   * @param checkpoints holds the scanned pages that an earlier attempt read, and takes those read now
   * @throws ExtractionError when the file is at fault; ProcessLostError when the process that read it crashed or was
   * killed; the signal's reason when it was aborted; any other error is retryable
   */
  extract(source: ExtractionSource, signal?: AbortSignal, checkpoints?: Checkpoints): Promise<Extraction>;
  /**
   * Extracts a document's text and divides it into chunks.
   * @param store takes some chunks in order, with the document's title; the next ones wait for it
   * @throws as `extract`, and the error of `store`
   */
  extractChunks(
    source: ExtractionSource,
    store: (title: string | null, chunks: Chunk[]) => Promise<void>,
    signal?: AbortSignal,
    checkpoints?: Checkpoints,
  ): Promise<void>;
  /** The OCR that the extractor uses, for files that are read by OCR alone. */
  pages: PageReader;
  /** Kills the processes with their running tasks. */
  close(): Promise<void>;
}

/** Plain text up to this size is read in this process: its cost is bounded, and a short note is the most common item. */
export const SMALL_TEXT_BYTES = 16 * 1024;

const never = new AbortController().signal;

/** Parsers and OCR in child processes, each with a time and a memory limit (E2003 when exceeded). */
export function createExtractor(options: ExtractorOptions): Extractor {
  const { processes = 2, memoryMb = 256, timeoutMs = 120_000, ocrProcesses = 2, ocrPageTimeoutMs = 120_000 } = options;
  const { languagesDir, idleMs, log } = options;
  const worker = new URL('./worker.js', import.meta.url);
  const documents = createProcessPool<ExtractionTask, ExtractionOutcome, ExtractionPart>({
    worker,
    processes,
    memoryMb,
    timeoutMs,
    idleMs,
  });
  const pages = createPageReader({ processes: ocrProcesses, timeoutMs: ocrPageTimeoutMs, languagesDir, idleMs, log });
  const limits = { ...DEFAULT_LIMITS, ...options.limits };

  async function parse(
    { path, kind, language, org }: ExtractionSource,
    as: ExtractionTask['as'],
    onPart: (part: ExtractionPart) => Promise<void>,
    signal = never,
    checkpoints = noCheckpoints,
  ): Promise<void> {
    signal.throwIfAborted();
    if (kind === 'text' && (await stat(path)).size <= SMALL_TEXT_BYTES) {
      const { title, sections } = checkText(await extractText(path), limits);
      return onPart(as === 'sections' ? { title, sections } : { title, chunks: [...chunkSections({ sections })] });
    }
    const task = { path, kind, limits, as };
    const run = (read?: PageText[]) =>
      runOnFile(documents, read ? { ...task, pages: read } : task, signal, { onPart, owner: org });
    const readPages = async (scan: ScannedFile['kind'], reading: Partial<ReadPagesOptions>): Promise<PageText[]> => {
      const read = await pages.read({ path, kind: scan }, { limits, language, checkpoints, org, ...reading }, signal);
      return read.map(({ page, text }) => ({ page, text }));
    };
    if (kind === 'image') {
      await run(await readPages(kind, { limits: { ...limits, maxPages: limits.maxScannedPages } }));
      return;
    }
    const { scans } = await run();
    if (scans.length === 0) return;
    if (scans.length > limits.maxScannedPages) {
      const detail = `It has ${scans.length} pages without a text layer; at most ${limits.maxScannedPages} are allowed.`;
      throw new ExtractionError('E2003', detail);
    }
    // The PDF is parsed again afterwards, which costs little beside OCR and keeps nothing in memory during it.
    await run(await readPages('pdf', { pages: scans }));
  }

  return {
    async extract(source, signal, checkpoints) {
      const extraction: Extraction = { title: null, sections: [] };
      const take = async (part: ExtractionPart) => {
        extraction.title = part.title;
        for (const section of (part as { sections: ExtractedSection[] }).sections) extraction.sections.push(section);
      };
      await parse(source, 'sections', take, signal, checkpoints);
      return extraction;
    },

    extractChunks(source, store, signal, checkpoints) {
      const take = (part: ExtractionPart) => store(part.title, (part as { chunks: Chunk[] }).chunks);
      return parse(source, 'chunks', take, signal, checkpoints);
    },

    pages,
    async close() {
      await Promise.all([documents.close(), pages.close()]);
    },
  };
}
