import { join } from 'node:path';
import type { OcrPage } from '../../../../domain/ai-jobs/features.js';
import { createProcessPool } from '../../../isolation/pool.js';
import { countLetters } from '../../plain-text.js';
import { runOnFile } from '../../run-on-file.js';
import { knowsLanguage } from './alphabet.js';
import { findModels, MODELS_FOLDER } from './models.js';
import type { SecondTask } from './page-worker.js';

export interface SecondReaderOptions {
  /** Holds the data of languages other than English, and the models of the second recogniser when they have been fetched. */
  languagesDir: string;
  /** For one page, without waiting for a process. */
  timeoutMs: number;
  /** How long an idle process waits for the next page. */
  idleMs?: number | undefined;
  /** Hears of failures that do not fail a page. */
  log?: { warn(details: object, message: string): void } | undefined;
}

/** A page that the first recogniser has read, and what it has learned of it. */
export interface DoubtfulPage extends Omit<SecondTask, 'page' | 'models'> {
  first: OcrPage;
  /** Whose page it is. */
  org?: string | undefined;
}

/** Reads pages that the first recogniser is not sure of. */
export interface SecondReader {
  /**
   * @returns the page as the better of both recognisers has read it; the first one's without the models, in a language that
   * they do not know, and when the second one fails
   * @throws the signal's reason
   */
  better(page: DoubtfulPage, signal: AbortSignal): Promise<OcrPage>;
  close(): Promise<void>;
}

const MEMORY_MB = 256;
/** Full pages took up to 660. */
const RESIDENT_MB = 1_024;
/** Share of the first one's letters. The second one finds nothing in what the first one takes for letters, or all of them. */
const MIN_LETTERS = 0.5;

/** Another recogniser in one process of its own: it takes 6 to 7 s of processor time for a page. */
export function createSecondReader({ languagesDir, timeoutMs, idleMs, log }: SecondReaderOptions): SecondReader {
  const pool = createProcessPool<SecondTask, OcrPage>({
    worker: new URL('./page-worker.js', import.meta.url),
    processes: 1,
    memoryMb: MEMORY_MB,
    residentMb: RESIDENT_MB,
    // sharp and onnxruntime.
    addons: true,
    readable: [join(languagesDir, MODELS_FOLDER)],
    timeoutMs,
    idleMs,
  });
  return {
    async better({ first, upsideDown, org, ...page }, signal) {
      const models = knowsLanguage(page.language) ? await findModels(languagesDir) : null;
      if (!models) return first;
      const task = { ...page, page: first.page, models, upsideDown };
      try {
        const second = await runOnFile(pool, task, signal, { subject: `page ${first.page}`, owner: org });
        return countLetters(second.text) >= countLetters(first.text) * MIN_LETTERS ? second : first;
      } catch (error) {
        signal.throwIfAborted();
        log?.warn(
          { reason: (error as Error).message },
          'the second recogniser failed, and the text of the first stands',
        );
        return first;
      }
    },
    close: () => pool.close(),
  };
}
