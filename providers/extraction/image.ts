import { type ExtractedSection, type Extraction, ExtractionError } from '../../domain/extraction.js';
import type { ExtractionLimits } from './limits.js';
import { startOcrEngine } from './ocr.js';
import { forOcr, openFrames } from './picture.js';

/**
 * The words in a picture, one section a frame (pages of a TIFF; of an animation the first frame only).
 * The engine lives for one frame: it starts in 0.2 s, reads a page in 3 to 5, and never gives memory back but by ending.
 * @throws ExtractionError E2003 too many pixels or frames, E2001 not decodable, E2004 no words
 */
export async function extractImage(path: string, limits: ExtractionLimits): Promise<Extraction> {
  const frames = await openFrames(path, limits);
  const sections: ExtractedSection[] = [];
  for (const [index, frame] of frames.entries()) {
    const { png } = await forOcr(frame());
    const engine = await startOcrEngine();
    try {
      const { text } = await engine.recognize(png);
      if (text !== '') sections.push({ text, headings: [], page: index + 1 });
    } finally {
      await engine.close();
    }
  }
  if (sections.length === 0) throw new ExtractionError('E2004');
  return { title: null, sections };
}
