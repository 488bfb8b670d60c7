import sharp from 'sharp';

/** The pixels of a page with a byte each, top row first. */
export interface GreyPage {
  data: Buffer;
  width: number;
  height: number;
}

export async function greyPage(png: Buffer): Promise<GreyPage> {
  const { data, info } = await sharp(png).toColourspace('b-w').raw().toBuffer({ resolveWithObject: true });
  return { data, width: info.width, height: info.height };
}

/** The pixels as the models take them: from -1 to 1, once for each colour. */
export function inThreeColours(pixels: Uint8Array): Float32Array {
  const values = new Float32Array(pixels.length * 3);
  for (let at = 0; at < pixels.length; at++) values[at] = pixels[at]! / 127.5 - 1;
  values.copyWithin(pixels.length, 0, pixels.length);
  values.copyWithin(2 * pixels.length, 0, pixels.length);
  return values;
}
