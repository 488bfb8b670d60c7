import { createWorker, type Line, OEM } from 'tesseract.js';
import type { OcrLanguage } from '../../../domain/ocr-languages.js';
import { cleanText } from '../plain-text.js';
import { LANGUAGE_DATA } from './language-data.js';
import { isBlank } from './picture.js';

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

/**
 * Starts an engine, a thread that takes 0.2 s to start. It frees its memory only when it ends: 50 MB after six pages.
 * @param folder has the language's data
 */
export async function startOcrEngine(language: OcrLanguage, folder: string): Promise<OcrEngine> {
  const engine = await createWorker(LANGUAGE_DATA[language].name, OEM.LSTM_ONLY, {
    langPath: folder,
    // Nothing is downloaded here, and no cache is written.
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
