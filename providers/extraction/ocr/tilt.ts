import sharp from 'sharp';
import { greyPixels } from './picture.js';

/** The page is shrunk to this width in pixels, which averages the grain of the paper away. */
const WIDTH = 620;
/** Pixels around a pixel whose mean is the paper there: more than a letter, less than a shadow. */
const REACH = 12;
/** Grey levels by which ink is darker than the paper around it. */
const INK = 24;
/** Degrees that are tried in both directions, and the steps. */
const MAX_TILT = 10;
const STEPS = [0.5, 0.1];
const RADIANS = Math.PI / 180;
/** How much sharper the lines must be across the page than along it, so that it is read as turned. */
const TURNED = 2;

/** How the lines of text are turned on a page. */
export interface Tilt {
  /** Degrees, clockwise, by which the page must be turned so that its lines are level. Within 10 degrees. */
  degrees: number;
  /** Whether the lines run from top to bottom, so that the page must be turned by 90 degrees first, in one direction or the other. */
  sideways: boolean;
}

/** Finds the direction in which the rows of pixels are either full of ink or empty: that of the lines. @param png grey */
export async function findTilt(png: Buffer): Promise<Tilt> {
  const shrunk = sharp(png).resize({ width: WIDTH, withoutEnlargement: true, kernel: 'linear' });
  const { data, info } = await greyPixels(shrunk);
  const ink = inkOf(data, info);
  const along = steepest(ink, info);
  // A page that is turned by 90 degrees has its lines from top to bottom.
  const turned = { x: ink.y, y: ink.x.map((x) => info.width - 1 - x) };
  const across = steepest(turned, { width: info.height, height: info.width });
  const sideways = across.sharpness > along.sharpness * TURNED;
  return { degrees: (sideways ? across : along).degrees, sideways };
}

interface Places {
  x: Uint16Array;
  y: Uint16Array;
}
interface Size {
  width: number;
  height: number;
}

/** The places of the pixels that are darker than the paper around them. */
function inkOf(data: Uint8Array, { width, height }: Size): Places {
  const sums = integral(data, { width, height });
  const row = width + 1;
  const x: number[] = [];
  const y: number[] = [];
  for (let at = 0; at < data.length; at++) {
    const [column, line] = [at % width, Math.floor(at / width)];
    const [left, right] = [Math.max(0, column - REACH), Math.min(width, column + REACH + 1)];
    const [top, bottom] = [Math.max(0, line - REACH) * row, Math.min(height, line + REACH + 1) * row];
    const sum = sums[bottom + right]! - sums[top + right]! - sums[bottom + left]! + sums[top + left]!;
    if ((sum * row) / ((bottom - top) * (right - left)) - data[at]! < INK) continue;
    x.push(column);
    y.push(line);
  }
  return { x: Uint16Array.from(x), y: Uint16Array.from(y) };
}

/** Sums of all pixels above and to the left of each, so that the sum of a square takes four of them. */
function integral(data: Uint8Array, { width, height }: Size): Float64Array {
  const sums = new Float64Array((width + 1) * (height + 1));
  for (let y = 0; y < height; y++) {
    let sum = 0;
    for (let x = 0; x < width; x++) {
      sum += data[y * width + x]!;
      sums[(y + 1) * (width + 1) + x + 1] = sums[y * (width + 1) + x + 1]! + sum;
    }
  }
  return sums;
}

/** @returns the angle at which rows differ most from their neighbours, and how much they do */
function steepest(ink: Places, size: Size): { degrees: number; sharpness: number } {
  const first = Math.ceil(size.width * Math.tan(MAX_TILT * RADIANS)) + 1;
  const rows = new Uint32Array(size.height + 2 * first);
  let best = { degrees: 0, sharpness: sharpnessAt(0, ink, first, rows) };
  let [from, to] = [-MAX_TILT, MAX_TILT];
  for (const step of STEPS) {
    for (let degrees = from; degrees <= to; degrees += step) {
      const sharpness = sharpnessAt(degrees, ink, first, rows);
      if (sharpness > best.sharpness) best = { degrees, sharpness };
    }
    [from, to] = [Math.max(-MAX_TILT, best.degrees - step), Math.min(MAX_TILT, best.degrees + step)];
  }
  return best;
}

/** @param first row of the top of the page: a slope can move it up @param rows is overwritten */
function sharpnessAt(degrees: number, { x, y }: Places, first: number, rows: Uint32Array): number {
  const slope = Math.tan(degrees * RADIANS);
  rows.fill(0);
  for (let at = 0; at < x.length; at++) rows[Math.round(first + y[at]! + x[at]! * slope)]! += 1;
  let sharpness = 0;
  for (let row = 1; row < rows.length; row++) sharpness += (rows[row]! - rows[row - 1]!) ** 2;
  return sharpness;
}
