import { readFile } from 'node:fs/promises';
import { decode as decodeBmp } from 'bmp-js';
import sharp, { type Sharp } from 'sharp';
import { ExtractionError } from '../../../domain/extraction.js';
import { checkPageCount, checkPixels, type ExtractionLimits } from '../limits.js';

/** An A4 page at 210 dpi. More pixels cost memory and time without better results. */
const OCR_PIXELS = 4_300_000;
/** The engine rejects a picture with more than 32,767 pixels in a row or a column; a turned one gets a little larger. */
const OCR_MAX_SIDE = 32_000;
/** Smaller pictures (screenshots, labels) are enlarged to this width, because letters under 20 pixels are misread. */
const OCR_MIN_WIDTH = 1_200;

/** `isBlank` shrinks a page to this width in pixels, and requires this contrast in grey levels (of 255). */
const BLANK_CHECK_WIDTH = 450;
const BLANK_CONTRAST = 22;

/** A page image in the form that the OCR engine reads. */
export interface PageImage {
  png: Buffer;
  width: number;
  height: number;
}

/** A file on the local disk that is read by OCR. */
export interface ScannedFile {
  path: string;
  kind: 'pdf' | 'image';
}

/** The pages of a PDF, or the frames of a picture. */
export interface Pages {
  count: number;
  /** The upright grey image of a page or frame. @param number from 1 @throws ExtractionError E2001 cannot be decoded or rendered */
  image(number: number): Promise<PageImage>;
  /** Frees the memory of the file. */
  close(): void;
}

/** A box in pixels. */
export interface Box {
  x0: number;
  y0: number;
  x1: number;
  y1: number;
}

/** The pixels of a page with a byte each, top row first. */
export interface GreyPixels {
  data: Buffer;
  info: { width: number; height: number; channels: 1 };
}

// One picture at a time and no cache: memory matters more than speed here.
sharp.cache(false);
sharp.concurrency(1);

/**
 * Opens the frames of a picture: all pages of a TIFF, but only the first frame of an animation.
 * @returns a function for each frame that decodes it
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
  checkPixels(width, height, limits);
  const frames = format === 'tiff' ? pages : 1;
  checkPageCount(frames, limits);
  return Array.from({ length: frames }, (_, page) => () => sharp(file, { ...options, page }));
}

/** A BMP, which `sharp` cannot read. */
function bmpFrame(file: Buffer, limits: ExtractionLimits): () => Sharp {
  if (file.length < 26) damaged();
  const width = Math.abs(file.readInt32LE(18));
  const height = Math.abs(file.readInt32LE(22));
  checkPixels(width, height, limits);
  return () => {
    try {
      const { data, width, height } = decodeBmp(file);
      // The decoder returns ABGR with an alpha that is often 0. Only the grey level is needed.
      const grey = Buffer.alloc(width * height);
      for (let pixel = 0; pixel < grey.length; pixel++) {
        const offset = pixel * 4;
        grey[pixel] = (data[offset + 1]! * 29 + data[offset + 2]! * 150 + data[offset + 3]! * 77) >> 8;
      }
      return sharp(grey, { raw: { width, height, channels: 1 } });
    } catch {
      return damaged();
    }
  };
}

/** @returns the factor by which a small picture is enlarged. @param width in pixels */
export function enlargement(width: number): number {
  return width < OCR_MIN_WIDTH ? Math.min(3, OCR_MIN_WIDTH / width) : 1;
}

/** @returns the given scale, or the largest at which the engine reads a picture of this size */
export function withinOcrSize(scale: number, { width, height }: { width: number; height: number }): number {
  return Math.min(scale, Math.sqrt(OCR_PIXELS / (width * height)), OCR_MAX_SIDE / Math.max(width, height));
}

export async function greyPixels(picture: Sharp): Promise<GreyPixels> {
  const { data, info } = await picture.toColourspace('b-w').raw().toBuffer({ resolveWithObject: true });
  return { data, info: { width: info.width, height: info.height, channels: 1 } };
}

/** Makes a frame upright, grey, on white, and of a size that OCR reads well. @throws ExtractionError E2001 not decodable */
export async function prepareForOcr(frame: Sharp): Promise<PageImage> {
  try {
    // The size as it is shown: most photos of a page are stored on their side.
    const { width, height } = (await frame.metadata()).autoOrient;
    const scale = withinOcrSize(enlargement(width), { width, height });
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
      // Without a density the engine estimates one from the letters and prints a warning on stderr.
      .withMetadata({ density: 200 })
      .toBuffer({ resolveWithObject: true });
    return { png: data, width: info.width, height: info.height };
  } catch {
    return damaged();
  }
}

/** Whether a page is empty. Shrinking averages the grain of the paper away, but not the strokes of letters. */
export async function isBlank(png: Buffer): Promise<boolean> {
  const smooth = await sharp(png)
    .resize({ width: BLANK_CHECK_WIDTH, withoutEnlargement: true, kernel: 'linear' })
    .raw()
    .toBuffer();
  let [darkest, lightest] = [255, 0];
  for (const level of smooth) {
    if (level < darkest) darkest = level;
    if (level > lightest) lightest = level;
  }
  return lightest - darkest < BLANK_CONTRAST;
}

function damaged(): never {
  throw new ExtractionError('E2001', 'The image cannot be decoded.');
}
