import { createWorker, type Line, OEM } from 'tesseract.js';
import type { OcrLanguage } from '../../../domain/ocr-languages.js';
import { cleanText, countLetters } from '../plain-text.js';
import { LANGUAGE_DATA } from './language-data.js';
import { type Box, isBlank } from './picture.js';
import { linesOfText, textOf } from './to-page.js';

/** Of 100. Even in the worst scans tested, only one word in twenty at this confidence was right; below it are dust and stains. */
const MIN_CONFIDENCE = 25;

/** Of 100. Of a page without letters, hardly a word of three letters is recognised with so much. */
const SURE = 60;
/** Letters and digits of a word that chance does not make. */
const SURE_LETTERS = 3;
/** Of 100. No line of a page without letters is recognised with so much: its mean was 64 at the most. */
const SURE_LINE = 75;
/** Share of a line's letters in sure words. Bad scans have more, pictures of things none. */
const SURE_SHARE = 0.5;
/** A character that is a word, in scripts without spaces. */
const UNSPACED = /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}]/u;

/** A line of a picture; the box in pixels. */
export interface RecognizedLine {
  text: string;
  /** 0 to 100. */
  confidence: number;
  box: Box;
}

export interface Recognized {
  /** Whether nothing is on the picture. */
  isBlank: boolean;
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
      if (await isBlank(image)) return { isBlank: true, text: '', confidence: 0, lines: [], tsv: '' };
      const { data } = await engine.recognize(image, {}, { blocks: true, text: false, tsv: true });
      const found = (data.blocks ?? []).flatMap((block) => block.paragraphs).map(({ lines }) => lines.filter(isText));
      const paragraphs = linesOfText(found, isSure).map((lines) => lines.map(readLine));
      return {
        isBlank: false,
        text: textOf(paragraphs),
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

const isText = ({ text, confidence }: Line) => cleanText(text).trim() !== '' && confidence >= MIN_CONFIDENCE;

/** Whether a line is certainly text: as a whole, or by most of its letters. */
function isSure({ confidence: ofLine, words }: Line): boolean {
  let [sure, all] = [0, 0];
  for (const { text, confidence } of words) {
    const letters = countLetters(text);
    all += letters;
    if (confidence >= SURE && (letters >= SURE_LETTERS || UNSPACED.test(text))) sure += letters;
  }
  return ofLine >= SURE_LINE || (all > 0 && sure >= all * SURE_SHARE);
}
