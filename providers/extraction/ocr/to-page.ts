import type { OcrPage } from '../../../domain/ai-jobs/features.js';
import type { Recognized } from './engine.js';
import type { PageImage } from './picture.js';
import type { RepairedPage } from './repair-page.js';

/** Share of a page's lines that are sure: bad scans have more, pictures of things none. */
const SURE_SHARE = 0.5;

/** @returns the lines of each paragraph that are text: on a picture of things, only those that are sure */
export function linesOfText<Line>(paragraphs: readonly Line[][], isSure: (line: Line) => boolean): Line[][] {
  const all = paragraphs.flat();
  // A line that is hard to read stays among others that are sure: it is text, too.
  const isPage = all.filter(isSure).length >= all.length * SURE_SHARE;
  return paragraphs.map((lines) => (isPage ? lines : lines.filter(isSure))).filter((lines) => lines.length > 0);
}

/** The text of a page: a line for each, and an empty line between paragraphs. */
export const textOf = (paragraphs: readonly { text: string }[][]): string =>
  paragraphs.map((lines) => lines.map(({ text }) => text).join('\n')).join('\n\n');

/** @param image the page as it was @param repaired the picture that was read */
export function toPage(
  page: number,
  { text, confidence, lines }: Pick<Recognized, 'text' | 'confidence' | 'lines'>,
  { width, height }: PageImage,
  { onPage }: RepairedPage,
): OcrPage {
  const share = (pixels: number, total: number) => round(Math.min(1, Math.max(0, pixels / total)));
  return {
    page,
    text,
    confidence: lines.length === 0 ? 0 : round(confidence / 100),
    lines: lines.map(({ text, confidence, box }) => {
      const { x0, y0, x1, y1 } = onPage(box);
      const place = { left: share(x0, width), top: share(y0, height) };
      const size = { width: share(x1 - x0, width), height: share(y1 - y0, height) };
      return { text, confidence: round(confidence / 100), box: { ...place, ...size } };
    }),
  };
}

const round = (value: number) => Math.round(value * 10_000) / 10_000;
