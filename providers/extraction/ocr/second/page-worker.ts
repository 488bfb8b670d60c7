import sharp from 'sharp';
import type { OcrPage } from '../../../../domain/ai-jobs/features.js';
import type { OcrLanguage } from '../../../../domain/ocr-languages.js';
import type { ExtractionLimits } from '../../limits.js';
import { cleanText, countLetters } from '../../plain-text.js';
import type { RecognizedLine } from '../engine.js';
import { openPages } from '../open-pages.js';
import { type GreyPixels, greyPixels, type ScannedFile } from '../picture.js';
import { repairPage, turnPage } from '../repair-page.js';
import { linesOfText, textOf, toPage } from '../to-page.js';
import { alphabetOf } from './alphabet.js';
import { findLines } from './find-lines.js';
import { loadModels, type Models } from './models.js';
import { readLine } from './read-line.js';
import { inReadingOrder, type Row } from './reading-order.js';

export interface SecondTask extends ScannedFile {
  /** From 1. */
  page: number;
  limits: ExtractionLimits;
  language: OcrLanguage;
  /** The folder of the models. */
  models: string;
  /** Whether the page is upside down after its repair. */
  upsideDown: boolean;
}

/** Lines that are read with less are dust. */
const MIN_CONFIDENCE = 0.5;
/** A line with so much, and so many letters, is certainly text. */
const [SURE, SURE_LETTERS] = [75, 3];

let models: Promise<Models> | undefined;

/** The work of the process of the second recogniser: it reads a page that the first one has hardly read. @throws ExtractionError */
export default async function run(task: SecondTask): Promise<OcrPage> {
  const pages = await openPages(task, task.limits);
  const image = await pages.image(task.page).finally(() => pages.close());
  const level = await repairPage(image, { keepSpecks: true });
  const turned = await turnPage(level, task.upsideDown ? 180 : 0);
  models ??= loadModels(task.models);
  const paragraphs = await readPage(await models, await greyPixels(sharp(turned.png)), task.language);
  const lines = paragraphs.flat();
  const letters = lines.reduce((sum, { text }) => sum + text.length, 0);
  const text = textOf(paragraphs);
  const confidence = lines.reduce((sum, line) => sum + line.confidence * line.text.length, 0) / letters;
  return toPage(task.page, { text, confidence, lines }, image, turned);
}

/** @returns the lines of each paragraph, with their confidence of 100 */
async function readPage(
  { findsLines, readsLines, file }: Models,
  page: GreyPixels,
  language: OcrLanguage,
): Promise<RecognizedLine[][]> {
  const alphabet = alphabetOf(file, language);
  const readRow = async (row: Row): Promise<RecognizedLine[]> => {
    const parts: RecognizedLine[] = [];
    for (const { box } of row) {
      const { text, confidence } = await readLine(readsLines, alphabet, page, box);
      if (text !== '' && confidence >= MIN_CONFIDENCE) parts.push({ text, confidence: confidence * 100, box });
    }
    return parts.length === 0 ? [] : [joined(parts)];
  };
  const paragraphs: RecognizedLine[][] = [];
  for (const rows of inReadingOrder(await findLines(findsLines, page))) {
    const lines: RecognizedLine[] = [];
    for (const row of rows) lines.push(...(await readRow(row)));
    paragraphs.push(lines);
  }
  return linesOfText(paragraphs, isSure);
}

const isSure = ({ text, confidence }: RecognizedLine) => confidence >= SURE && countLetters(text) >= SURE_LETTERS;

function joined(parts: readonly RecognizedLine[]): RecognizedLine {
  const boxes = parts.map(({ box }) => box);
  return {
    text: cleanText(parts.map(({ text }) => text).join(' ')),
    confidence: parts.reduce((sum, { confidence }) => sum + confidence, 0) / parts.length,
    box: {
      x0: Math.min(...boxes.map(({ x0 }) => x0)),
      y0: Math.min(...boxes.map(({ y0 }) => y0)),
      x1: Math.max(...boxes.map(({ x1 }) => x1)),
      y1: Math.max(...boxes.map(({ y1 }) => y1)),
    },
  };
}
