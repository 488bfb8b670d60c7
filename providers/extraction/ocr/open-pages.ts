import type { ExtractionLimits } from '../limits.js';
import { openPdfPages } from './pdf-pages.js';
import { openFrames, type Pages, prepareForOcr, type ScannedFile } from './picture.js';

/**
 * Opens the pages of a PDF or the frames of a picture.
 * @throws ExtractionError E2001 damaged, E2002 encrypted, E2003 too many pages or pixels
 */
export async function openPages({ path, kind }: ScannedFile, limits: ExtractionLimits): Promise<Pages> {
  if (kind === 'pdf') return openPdfPages(path, limits);
  const frames = await openFrames(path, limits);
  return { count: frames.length, image: (number) => prepareForOcr(frames[number - 1]!()), close() {} };
}
