import { z } from 'zod';
import { type OcrPage, ocrPage } from '../../../domain/ai-jobs/features.js';
import { type Checkpoints, noCheckpoints } from '../../../domain/checkpoints.js';
import { mapConcurrently } from '../../../domain/map-concurrently.js';
import { DEFAULT_OCR_LANGUAGE, type OcrLanguage } from '../../../domain/ocr-languages.js';
import { createProcessPool } from '../../isolation/pool.js';
import type { ExtractionLimits } from '../limits.js';
import { runOnFile } from '../run-on-file.js';
import { createLanguageData } from './language-data.js';
import type { PageOutcome, PageTask } from './page-worker.js';
import type { ScannedFile } from './picture.js';
import { createSecondReader, type SecondReaderOptions } from './second/reader.js';

export interface PageReaderOptions extends SecondReaderOptions {
  /** Pages read at the same time, over all files. Each takes a core and about 300 MB. */
  processes: number;
}

export interface ReadPagesOptions {
  limits: ExtractionLimits;
  /** Page numbers to read, from 1. All when left out. */
  pages?: readonly number[];
  /** Language of the text; `en` when left out. */
  language?: OcrLanguage | undefined;
  /** Each finished page is saved by its number and the form in which it is needed. Saved pages are not read again. */
  checkpoints?: Checkpoints;
  /** Whose file it is: organisations whose pages wait for a process take turns. */
  org?: string | undefined;
}

export interface PageReader {
  /**
   * Reads pages by OCR, several at the same time, and returns them in order.
   * @throws ExtractionError when the file is at fault, the signal's reason, or an error of `checkpoints`
   */
  read(file: ScannedFile, options: ReadPagesOptions, signal: AbortSignal): Promise<OcrPage[]>;
  /** As `read`, with the engine's own result for each page. */
  readWithWords(file: ScannedFile, options: ReadPagesOptions, signal: AbortSignal): Promise<ScannedPage[]>;
  /** As `readWithWords`, without the lines that are drawn around the cells of tables. */
  readTables(file: ScannedFile, options: ReadPagesOptions, signal: AbortSignal): Promise<ScannedPage[]>;
  close(): Promise<void>;
}

/** Heap of one process in MiB. The OCR engine's memory is outside of it: 300 MB are usual. */
const MEMORY_MB = 192;
const RESIDENT_MB = 640;

/** A recognised page, the size of its picture in pixels, and the engine's own result: Tesseract's TSV, without its header. */
const scannedPage = z.object({ page: ocrPage, width: z.number(), height: z.number(), tsv: z.string() });
export type ScannedPage = z.infer<typeof scannedPage>;

/** The parts of a page that are kept as its checkpoint. */
interface Form<Page> {
  step: string;
  eraseLines?: boolean;
  schema: z.ZodType<Page>;
  of(scanned: ScannedPage): Page;
}
const TEXT: Form<OcrPage> = { step: 'page', schema: ocrPage, of: ({ page }) => page };
const WORDS: Form<ScannedPage> = { step: 'words', schema: scannedPage, of: (scanned) => scanned };
const TABLES: Form<ScannedPage> = { ...WORDS, step: 'table-words', eraseLines: true };

/** OCR in child processes for rendered PDF pages and picture frames, shared by items and AI jobs. */
export function createPageReader(options: PageReaderOptions): PageReader {
  const languages = createLanguageData(options.languagesDir);
  const pool = createProcessPool<PageTask, PageOutcome>({
    worker: new URL('./page-worker.js', import.meta.url),
    processes: options.processes,
    memoryMb: MEMORY_MB,
    residentMb: RESIDENT_MB,
    // sharp decodes pictures.
    addons: true,
    readable: [options.languagesDir],
    timeoutMs: options.timeoutMs,
    idleMs: options.idleMs,
  });
  const second = createSecondReader(options);

  async function allPages(
    file: ScannedFile,
    { limits, org }: ReadPagesOptions,
    signal: AbortSignal,
  ): Promise<number[]> {
    const result = await runOnFile(pool, { ...file, page: null, limits }, signal, { owner: org });
    if (!('count' in result)) throw new Error('The process read a page instead of counting pages.');
    return Array.from({ length: result.count }, (_, index) => index + 1);
  }

  async function readPage<Page>(
    file: ScannedFile,
    page: number,
    { step: name, schema, of, eraseLines = false }: Form<Page>,
    { limits, language = DEFAULT_OCR_LANGUAGE, checkpoints = noCheckpoints, org }: ReadPagesOptions,
    signal: AbortSignal,
  ): Promise<Page> {
    const step = `${name}-${page}`;
    const saved = schema.safeParse(await checkpoints.load(step));
    if (saved.success) return saved.data;
    const languageData = await languages.folderOf(language);
    const result = await runOnFile(pool, { ...file, page, limits, language, languageData, eraseLines }, signal, {
      subject: `page ${page}`,
      owner: org,
    });
    if (!('page' in result)) throw new Error('The process counted pages instead of reading one.');
    const { page: first, isDoubtful, upsideDown, ...words } = result;
    // Tables come from the boxes of words, which only the first recogniser has.
    const better =
      isDoubtful && !eraseLines
        ? await second.better({ ...file, limits, language, org, first, upsideDown }, signal)
        : first;
    const read = of({ ...words, page: better });
    await checkpoints.save(step, read);
    return read;
  }

  const readAs =
    <Page>(form: Form<Page>) =>
    async ({ path, kind }: ScannedFile, reading: ReadPagesOptions, signal: AbortSignal): Promise<Page[]> => {
      const file = { path, kind };
      const numbers = reading.pages ?? (await allPages(file, reading, signal));
      return mapConcurrently(numbers, options.processes, signal, (page, stop) =>
        readPage(file, page, form, reading, stop),
      );
    };

  return {
    read: readAs(TEXT),
    readWithWords: readAs(WORDS),
    readTables: readAs(TABLES),
    async close() {
      await Promise.all([pool.close(), second.close()]);
    },
  };
}
