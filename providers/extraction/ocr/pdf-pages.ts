import { type PDFiumDocument, PDFiumLibrary, type PDFiumPage } from '@hyzyla/pdfium';
import sharp from 'sharp';
import { ExtractionError } from '../../../domain/extraction.js';
import { largestPicture, readWholePdf } from '../formats/pdf-file.js';
import { checkPageCount, checkPixels, type ExtractionLimits } from '../limits.js';
import { enlargement, type PageImage, type Pages, withinOcrSize } from './picture.js';

/** Of a page that is more than one picture. */
const DPI = 210;
const POINTS_PER_INCH = 72;
/** One per process: a new one for each document would leave its memory to the garbage collector, which is too slow. */
let library: Promise<PDFiumLibrary> | undefined;

/**
 * Opens a PDF to render its pages in grey on white: a scan in its own size, another page at 210 dpi; less if it is large.
 * @throws ExtractionError E2001 damaged or truncated, E2002 encrypted, E2003 too many pages or pixels in a picture
 */
export async function openPdfPages(path: string, limits: ExtractionLimits): Promise<Pages> {
  const file = await readWholePdf(path);
  const { width, height } = largestPicture(file);
  checkPixels(width, height, limits);
  library ??= PDFiumLibrary.init();
  const document = await (await library).loadDocument(file).catch((error: Error) => {
    dropBrokenLibrary(error);
    // The library has no error codes.
    throw new ExtractionError(/password|security/i.test(error.message) ? 'E2002' : 'E2001');
  });
  const count = document.getPageCount();
  try {
    checkPageCount(count, limits);
  } catch (error) {
    document.destroy();
    throw error;
  }
  return {
    count,
    image: (number) => render(document, number),
    close() {
      try {
        document.destroy();
      } catch (error) {
        dropBrokenLibrary(error);
      }
    },
  };
}

/** After a trap inside WebAssembly the state of its memory is unknown. */
function dropBrokenLibrary(error: unknown): void {
  if ((error as Error).name === 'RuntimeError') library = undefined;
}

async function render(document: PDFiumDocument, number: number): Promise<PageImage> {
  try {
    const page = document.getPage(number - 1);
    const { originalWidth: width, originalHeight: height } = page.getOriginalSize();
    // A page that failed to load has no size.
    if (!(width > 0 && height > 0)) throw new Error('the page has no size');
    const own = (await scaleOfScan(page, width, height)) ?? DPI / POINTS_PER_INCH;
    const scale = withinOcrSize(own, { width, height });
    const picture = await page.render({ scale, colorSpace: 'Gray', renderFormFields: true });
    const raw = { width: picture.width, height: picture.height, channels: 1 } as const;
    const png = await sharp(picture.data, { raw })
      .png({ compressionLevel: 1 })
      .withMetadata({ density: DPI })
      .toBuffer();
    return { png, width: picture.width, height: picture.height };
  } catch (error) {
    dropBrokenLibrary(error);
    throw new ExtractionError('E2001', `Page ${number} cannot be rendered.`);
  }
}

/** Objects of a page that are looked at: a scan has one picture, and perhaps a stamp. */
const MAX_OBJECTS = 20;
/** By how much the sides of a picture may differ from those of a page that it covers. */
const TOLERANCE = 0.05;

/**
 * @returns pixels per point of a page that is one picture, so that OCR reads the pixels of the scanner, and as many more as it
 * needs; undefined for another page
 */
async function scaleOfScan(page: PDFiumPage, width: number, height: number): Promise<number | undefined> {
  if (page.getObjectCount() > MAX_OBJECTS) return undefined;
  for (const object of page.objects()) {
    if (object.type !== 'image') continue;
    const picture = await object.getImageDataRaw();
    if (Math.abs(shapeOf(picture) / shapeOf({ width, height }) - 1) > TOLERANCE) continue;
    const scale = Math.sqrt((picture.width * picture.height) / (width * height));
    return scale * enlargement(width * scale);
  }
  return undefined;
}

/** The ratio of the sides; the page may turn its picture. */
const shapeOf = ({ width, height }: { width: number; height: number }) =>
  Math.max(width, height) / Math.min(width, height);
