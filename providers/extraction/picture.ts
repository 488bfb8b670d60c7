import { readFile } from 'node:fs/promises';
import { decode as decodeBmp } from 'bmp-js';
import sharp, { type Sharp } from 'sharp';
import { ExtractionError } from '../../domain/extraction.js';
import type { ExtractionLimits } from './limits.js';

/** An A4 page at 210 dpi: more pixels cost memory and seconds and read no better. */
export const OCR_PIXELS = 4_300_000;
/** Small pictures (screenshots, labels) are enlarged to this width: letters under 20 pixels are misread. */
const OCR_MIN_WIDTH = 1_200;

/** Pixels to which the width of a page is shrunk, and grey levels (of 255) that must be left for it to have something on it. */
const GLANCE_WIDTH = 450;
const BLANK_CONTRAST = 22;

/** A picture that is ready to be recognised. */
export interface PageImage {
  png: Buffer;
  width: number;
  height: number;
}

// One picture at a time and nothing kept: memory matters more here than speed.
sharp.cache(false);
sharp.concurrency(1);

/**
 * Opens the frames of a picture: pages of a TIFF; of an animation the first frame only. A frame is decoded when it is asked for.
 * @throws ExtractionError E2003 too many pixels or frames, E2001 not decodable
 */
export async function openFrames(path: string, limits: ExtractionLimits): Promise<(() => Sharp)[]> {
  const file = await readFile(path);
  if (file.toString('latin1', 0, 2) === 'BM') return [bmpFrame(file, limits)];
  const options = { limitInputPixels: limits.maxPixels, failOn: 'error' } as const;
  const {
    width,
    height,
    pages = 1,
    format,
  } = await sharp(file, { ...options, limitInputPixels: false })
    .metadata()
    .catch(() => damaged());
  if (width * height > limits.maxPixels) tooLarge(width, height);
  const frames = format === 'tiff' ? pages : 1;
  if (frames > limits.maxPages)
    throw new ExtractionError('E2003', `It has ${frames} pages, ${limits.maxPages} are allowed.`);
  return Array.from({ length: frames }, (_, page) => () => sharp(file, { ...options, page }));
}

/** `sharp` has no BMP reader. */
function bmpFrame(file: Buffer, limits: ExtractionLimits): () => Sharp {
  if (file.length < 26) damaged();
  const width = Math.abs(file.readInt32LE(18));
  const height = Math.abs(file.readInt32LE(22));
  if (width * height > limits.maxPixels) tooLarge(width, height);
  return () => {
    try {
      const { data, width, height } = decodeBmp(file);
      // The decoder gives alpha, blue, green, red, and its alpha is often 0; only grey is wanted.
      const grey = Buffer.alloc(width * height);
      for (let pixel = 0; pixel < grey.length; pixel++) {
        const at = pixel * 4;
        grey[pixel] = (data[at + 1]! * 29 + data[at + 2]! * 150 + data[at + 3]! * 77) >> 8;
      }
      return sharp(grey, { raw: { width, height, channels: 1 } });
    } catch {
      return damaged();
    }
  };
}

/** Makes a frame upright, grey, on white, and of a size the recognition reads well. @throws ExtractionError E2001 not decodable */
export async function forOcr(frame: Sharp): Promise<PageImage> {
  try {
    const { width, height } = await frame.metadata();
    const wanted = width < OCR_MIN_WIDTH ? Math.min(3, OCR_MIN_WIDTH / width) : 1;
    const scale = Math.min(wanted, Math.sqrt(OCR_PIXELS / (width * height)));
    const { data, info } = await frame
      .autoOrient()
      .flatten({ background: 'white' })
      .grayscale()
      .resize({
        width: Math.max(1, Math.round(width * scale)),
        height: Math.max(1, Math.round(height * scale)),
        fit: 'inside',
      })
      .png({ compressionLevel: 1 })
      // The engine guesses from the letters where a picture states no density, and complains about it on stderr.
      .withMetadata({ density: 200 })
      .toBuffer({ resolveWithObject: true });
    return { png: data, width: info.width, height: info.height };
  } catch {
    return damaged();
  }
}

/** Whether nothing stands out from the paper. Its grain is averaged away; strokes of letters are not. */
export async function isBlank(png: Buffer): Promise<boolean> {
  const smooth = await sharp(png)
    .resize({ width: GLANCE_WIDTH, withoutEnlargement: true, kernel: 'linear' })
    .raw()
    .toBuffer();
  let [darkest, lightest] = [255, 0];
  for (const level of smooth) {
    if (level < darkest) darkest = level;
    if (level > lightest) lightest = level;
  }
  return lightest - darkest < BLANK_CONTRAST;
}

/** @throws ExtractionError E2003 */
export function tooLarge(width: number, height: number): never {
  throw new ExtractionError('E2003', `The image has ${width} x ${height} pixels.`);
}

function damaged(): never {
  throw new ExtractionError('E2001', 'The image cannot be decoded.');
}
