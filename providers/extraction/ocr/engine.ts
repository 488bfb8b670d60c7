import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { createWorker, type Line, OEM } from 'tesseract.js';
import type { OcrLanguage } from '../../../domain/ocr-languages.js';
import { cleanText } from '../plain-text.js';
import { isBlank } from './picture.js';

/** The engine's names of languages. Each has a package with its trained data. */
const NAMES: Record<OcrLanguage, string> = {
  en: 'eng',
  ar: 'ara',
  de: 'deu',
  es: 'spa',
  fr: 'fra',
  hi: 'hin',
  it: 'ita',
  ja: 'jpn',
  nl: 'nld',
  pl: 'pol',
  pt: 'por',
  tr: 'tur',
  uk: 'ukr',
  zh: 'chi_sim',
};
const { resolve } = createRequire(import.meta.url);

/** The folder in a language's package. Nothing is downloaded and no cache is written. */
const dataOf = (name: string) => join(dirname(resolve(`@tesseract.js-data/${name}`)), '4.0.0_best_int');

/** Of 100. Even in the worst scans tested, only one word in twenty at this confidence was right; below it are dust and stains. */
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
  /** The engine's own table of all words with their boxes in pixels (Tesseract's TSV, without its header). */
  tsv: string;
}

export interface OcrEngine {
  /** Recognises the text of one picture. @param image PNG */
  recognize(image: Buffer): Promise<Recognized>;
  close(): Promise<void>;
}

/** Starts an engine, a thread that takes 0.2 s to start. It frees its memory only when it ends: 50 MB after six pages. */
export async function startOcrEngine(language: OcrLanguage): Promise<OcrEngine> {
  const name = NAMES[language];
  const engine = await createWorker(name, OEM.LSTM_ONLY, {
    langPath: dataOf(name),
    cacheMethod: 'none',
    gzip: true,
    // Without a handler the library throws inside a message event, which would end the process.
    errorHandler: () => undefined,
  });
  return {
    async recognize(image) {
      // On an empty page the engine would spend a long time and recognise letters in the paper's grain.
      if (await isBlank(image)) return { text: '', confidence: 0, lines: [], tsv: '' };
      const { data } = await engine.recognize(image, {}, { blocks: true, text: false, tsv: true });
      const paragraphs = (data.blocks ?? [])
        .flatMap((block) => block.paragraphs)
        .map((paragraph) => paragraph.lines.map(readLine).filter(isText))
        .filter((lines) => lines.length > 0);
      return {
        text: paragraphs.map((lines) => lines.map(({ text }) => text).join('\n')).join('\n\n'),
        confidence: data.confidence,
        lines: paragraphs.flat(),
        tsv: data.tsv ?? '',
      };
    },
    async close() {
      await engine.terminate();
    },
  };
}

const readLine = ({ text, confidence, bbox }: Line): RecognizedLine => ({
  text: joinUnspacedScripts(cleanText(text).trim()),
  confidence,
  box: bbox,
});

/** The engine puts spaces between words of scripts that have none, and before their punctuation. */
function joinUnspacedScripts(text: string): string {
  return text.replace(
    /(?<=[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}ー、。]) +(?=[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}ー、。，！？])/gu,
    '',
  );
}

const isText = ({ text, confidence }: RecognizedLine) => text !== '' && confidence >= MIN_CONFIDENCE;
