import type { ExtractionLimits } from './limits.js';
import { openPdfPages } from './pdf-pages.js';
import { forOcr, openFrames, type PageImage } from './picture.js';

export interface PageImages {
  count: number;
  /** @param number from 1 @throws ExtractionError E2001 it cannot be decoded or rendered */
  image(number: number): Promise<PageImage>;
  close(): void;
}

/**
 * Opens a PDF or a picture as what recognition reads: one upright grey picture a page or frame.
 * @throws ExtractionError E2001 damaged, E2002 encrypted, E2003 too many pages or pixels
 */
export async function openPageImages(
  path: string,
  kind: 'pdf' | 'image',
  limits: ExtractionLimits,
): Promise<PageImages> {
  if (kind === 'pdf') {
    const { count, render, close } = await openPdfPages(path, limits);
    return { count, image: render, close };
  }
  const frames = await openFrames(path, limits);
  return { count: frames.length, image: (number) => forOcr(frames[number - 1]!()), close() {} };
}
