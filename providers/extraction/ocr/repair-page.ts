import sharp, { type Sharp } from 'sharp';
import { type Box, greyPixels, type PageImage } from './picture.js';
import { findTilt } from './tilt.js';

/** Degrees. The engine reads lines that are less tilted as well as level ones. */
const MIN_TILT = 0.4;
/** Grey levels by which a speck differs from all pixels around it. */
const SPECK = 60;
/** Share of a page's pixels that are specks: a fax has a hundred times as many as a clean scan. */
const MAX_SPECKS = 0.005;

/** The page is shrunk to this width in pixels to see the light on the paper: letters are gone then. */
const LIGHT_WIDTH = 100;
/** Pixels around a pixel whose median is the light there. The filter fails on a picture that is lower. */
const LIGHT_REACH = 7;
/** More than a page needs: a strip from a till would get millions of rows. */
const MAX_LIGHT_HEIGHT = 1_000;
/** Grey levels between the darkest and the lightest part of the paper of a scanner; a camera leaves shadows. */
const MAX_SHADOW = 40;
/** The grey that paper gets. */
const PAPER = 235;

/** A page with level lines, and without specks and shadows, as the engine reads it best. */
export interface RepairedPage extends PageImage {
  /** @returns where a box of this picture is on the page as it was */
  onPage(box: Box): Box;
}

/**
 * Removes the specks of a noisy page and the shadows of a photographed one, and turns it so that its lines are level.
 * @param keepSpecks for a reader that sees more in a noisy page than in a smoothed one
 */
export async function repairPage(
  { png, width, height }: PageImage,
  { keepSpecks = false } = {},
): Promise<RepairedPage> {
  const page = { png, width, height };
  const smooth = (await specksOf(png)) > MAX_SPECKS ? await encode(sharp(png).median(3)) : page;
  const clean = await inEvenLight(smooth);
  const { degrees, sideways } = await findTilt(clean.png);
  const turn = (sideways ? 90 : 0) + (Math.abs(degrees) >= MIN_TILT ? degrees : 0);
  const kept = keepSpecks && smooth !== page ? await inEvenLight(page) : clean;
  return turnPage({ ...kept, onPage: (box) => box }, turn);
}

/** @param degrees clockwise */
export async function turnPage(page: RepairedPage, degrees: number): Promise<RepairedPage> {
  if (degrees === 0) return page;
  const turned = await encode(sharp(page.png).rotate(degrees, { background: 'white' }));
  return { ...turned, onPage: (box) => page.onPage(turnBack(box, degrees, turned, page)) };
}

async function encode(picture: Sharp): Promise<PageImage> {
  const { data, info } = await picture
    .grayscale()
    .png({ compressionLevel: 1 })
    .withMetadata({ density: 200 })
    .toBuffer({ resolveWithObject: true });
  return { png: data, width: info.width, height: info.height };
}

/** @returns the page as if the light had been the same everywhere */
async function inEvenLight(page: PageImage): Promise<PageImage> {
  const { png } = page;
  const inProportion = Math.round((LIGHT_WIDTH * page.height) / page.width);
  const height = Math.min(MAX_LIGHT_HEIGHT, Math.max(LIGHT_REACH, inProportion));
  const shrunk = sharp(png).resize({ width: LIGHT_WIDTH, height, fit: 'fill', kernel: 'linear' });
  const light = await greyPixels(shrunk).then(({ data, info }) =>
    greyPixels(sharp(data, { raw: info }).median(LIGHT_REACH)),
  );
  // Some pixels are pictures, or the edge of the table.
  const levels = Uint8Array.from(light.data).sort();
  const share = (part: number) => levels[Math.floor(part * (levels.length - 1))]!;
  if (share(0.95) - share(0.05) < MAX_SHADOW) return page;
  const { data, info } = await greyPixels(sharp(png));
  const size = { width: info.width, height: info.height, fit: 'fill', kernel: 'linear' } as const;
  const { data: paper } = await greyPixels(sharp(light.data, { raw: light.info }).blur(2).resize(size));
  for (let at = 0; at < data.length; at++)
    data[at] = Math.min(255, Math.round((data[at]! * PAPER) / Math.max(1, paper[at]!)));
  return encode(sharp(data, { raw: info }));
}

/** @returns the share of pixels that are darker, or lighter, than all eight around them */
async function specksOf(png: Buffer): Promise<number> {
  const { data, info } = await greyPixels(sharp(png));
  const { width, height } = info;
  const around = [-width - 1, -width, -width + 1, -1, 1, width - 1, width, width + 1];
  let specks = 0;
  for (let at = width + 1; at < data.length - width - 1; at++) {
    const level = data[at]!;
    const sign = Math.sign(level - data[at - 1]!);
    if (around.every((offset) => (level - data[at + offset]!) * sign >= SPECK)) specks += 1;
  }
  return specks / (width * height);
}

/** Turns the corners of a box back around the middle of the picture, which stays the middle. */
function turnBack({ x0, y0, x1, y1 }: Box, degrees: number, from: PageImage, to: PageImage): Box {
  const angle = (degrees * Math.PI) / 180;
  const [cos, sin] = [Math.cos(angle), Math.sin(angle)];
  const corners = [
    [x0, y0],
    [x1, y0],
    [x0, y1],
    [x1, y1],
  ].map(([x, y]) => {
    const [across, down] = [x! - from.width / 2, y! - from.height / 2];
    return [across * cos + down * sin + to.width / 2, down * cos - across * sin + to.height / 2] as const;
  });
  const [xs, ys] = [corners.map(([x]) => x), corners.map(([, y]) => y)];
  return { x0: Math.min(...xs), y0: Math.min(...ys), x1: Math.max(...xs), y1: Math.max(...ys) };
}
