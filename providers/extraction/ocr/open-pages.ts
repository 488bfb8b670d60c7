import type { ExtractionLimits } from '../limits.js';
import { openPdfPages } from './pdf-pages.js';
import { openFrames, type PageImage, prepareForOcr } from './picture.js';

interface Pages {
  count: number;
  /** The upright grey image of a page or frame. @param number from 1 @throws ExtractionError E2001 cannot be decoded or rendered */
  image(number: number): Promise<PageImage>;
  close(): void;
}

/**
 * Opens the pages of a PDF or the frames of a picture.
 * @throws ExtractionError E2001 damaged, E2002 encrypted, E2003 too many pages or pixels
 */
export async function openPages(path: string, kind: 'pdf' | 'image', limits: ExtractionLimits): Promise<Pages> {
  if (kind === 'pdf') {
    const { count, render, close } = await openPdfPages(path, limits);
    return { count, image: render, close };
  }
  const frames = await openFrames(path, limits);
  return { count: frames.length, image: (number) => prepareForOcr(frames[number - 1]!()), close() {} };
}
