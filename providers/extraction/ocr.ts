import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { createWorker, type Line, OEM } from 'tesseract.js';
import { isBlank } from './picture.js';
import { cleanText } from './text-encoding.js';

/** Trained data that come with the package; nothing is fetched and no cache is written. */
const LANGUAGE_DATA = join(dirname(createRequire(import.meta.url).resolve('@tesseract.js-data/eng')), '4.0.0_best_int');

/** Of 100. Of the worst scans that were tried, one word in twenty was right near it; what lies below is dust and stains. */
const MIN_CONFIDENCE = 25;

/** A line of a picture; the box in pixels. */
export interface RecognizedLine {
  text: string;
  /** 0 to 100. */
  confidence: number;
  box: { x0: number; y0: number; x1: number; y1: number };
}

export interface Recognized {
  text: string;
  /** 0 to 100. */
  confidence: number;
  lines: RecognizedLine[];
}

export interface OcrEngine {
  /** Reads the words of one picture. @param image in a format that needs no further decoding (PNG) */
  recognize(image: Buffer): Promise<Recognized>;
  close(): Promise<void>;
}

/** Starts an engine (a thread, 0.2 s). It never gives memory back but by ending: 50 MB more after six pages than one a page. */
export async function startOcrEngine(): Promise<OcrEngine> {
  const engine = await createWorker('eng', OEM.LSTM_ONLY, {
    langPath: LANGUAGE_DATA,
    cacheMethod: 'none',
    gzip: true,
    // Without a handler the library throws from a message event, which would end the thread.
    errorHandler: () => undefined,
  });
  return {
    async recognize(image) {
      // The engine finds letters in the grain of an empty page, and takes its time.
      if (await isBlank(image)) return { text: '', confidence: 0, lines: [] };
      const { data } = await engine.recognize(image, {}, { blocks: true, text: false });
      const paragraphs = (data.blocks ?? [])
        .flatMap((block) => block.paragraphs)
        .map((paragraph) => paragraph.lines.map(readLine).filter(isText))
        .filter((lines) => lines.length > 0);
      return {
        text: paragraphs.map((lines) => lines.map(({ text }) => text).join('\n')).join('\n\n'),
        confidence: data.confidence,
        lines: paragraphs.flat(),
      };
    },
    async close() {
      await engine.terminate();
    },
  };
}

const readLine = ({ text, confidence, bbox }: Line): RecognizedLine => ({
  text: cleanText(text).trim(),
  confidence,
  box: bbox,
});

/** Specks of dust are read as letters too, with next to no confidence. */
const isText = ({ text, confidence }: RecognizedLine) => text !== '' && confidence >= MIN_CONFIDENCE;
