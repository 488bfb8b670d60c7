import { ExtractionError } from '../../../domain/extraction.js';
import { DEFAULT_LIMITS } from '../../extraction/limits.js';
import { openFrames } from '../../extraction/ocr/picture.js';

export interface PictureTask {
  path: string;
  maxPixels: number;
}
export interface PictureOutcome {
  /** Base64. */
  jpeg: string;
}

/** Models shrink larger pictures themselves, but only after they were sent and paid for. */
const MAX_SIDE = 1_568;

/** The work of a process that converts the first frame of a picture to an upright JPEG of bounded size. @throws ExtractionError */
export default async function run({ path, maxPixels }: PictureTask): Promise<PictureOutcome> {
  const [first] = await openFrames(path, { ...DEFAULT_LIMITS, maxPixels });
  const jpeg = await first!()
    .autoOrient()
    .flatten({ background: 'white' })
    .resize({ width: MAX_SIDE, height: MAX_SIDE, fit: 'inside', withoutEnlargement: true })
    .toColourspace('srgb')
    .jpeg({ quality: 85 })
    .toBuffer()
    .catch(() => {
      throw new ExtractionError('E2001', 'The image cannot be decoded.');
    });
  return { jpeg: jpeg.toString('base64') };
}
