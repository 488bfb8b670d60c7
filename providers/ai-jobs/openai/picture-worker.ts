import { ExtractionError, type ItemErrorCode } from '../../../domain/extraction.js';
import { DEFAULT_LIMITS } from '../../extraction/limits.js';
import { openFrames } from '../../extraction/picture.js';

export interface PictureTask {
  path: string;
  maxPixels: number;
}
/** Base64. */
export type PictureOutcome = { jpeg: string } | { code: ItemErrorCode; detail?: string };

/** Models scale larger pictures down themselves, after they have been sent and paid for. */
const MAX_SIDE = 1_568;

/** Entry point of a thread that makes a JPEG, upright and of bounded size, of the first frame of any picture. */
export default async function run({ path, maxPixels }: PictureTask): Promise<PictureOutcome> {
  try {
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
  } catch (error) {
    if (error instanceof ExtractionError) return { code: error.code, detail: error.detail };
    throw error;
  }
}
