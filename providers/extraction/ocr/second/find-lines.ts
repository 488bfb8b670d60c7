import type { InferenceSession } from 'onnxruntime-node';
import sharp from 'sharp';
import { type Box, type GreyPixels, greyPixels } from '../picture.js';
import { type Area, areasOf } from './areas.js';
import { runModel } from './run-model.js';

/** Pixels of a page in which lines are looked for. More take more time and memory, and find hardly more. */
const PIXELS = 1_100_000;
/** The model takes widths and heights that are multiples of this. */
const STRIDE = 32;
/** Probability from which a pixel belongs to a line, and mean probability of a line. */
const [PIXEL, LINE] = [0.3, 0.5];
/** In pixels of the model's picture. */
const MIN_SIDE = 3;
/** More are no page of text. */
const MAX_LINES = 1_000;
/** The model marks the middle of a line. Its letters reach further: by this share of the area, divided by the length around it. */
const GROWTH = 1.6;

/** Where a line is on a page, in pixels. */
export interface LinePlace {
  /** With all of its letters. */
  box: Box;
  /** The middle of the letters, which does not touch other lines. */
  core: Box;
}

/** Finds the lines of a page whose lines are level. */
export async function findLines(session: InferenceSession, { data, info }: GreyPixels): Promise<LinePlace[]> {
  const scale = Math.min(1, Math.sqrt(PIXELS / (info.width * info.height)));
  const width = multiple(info.width * scale);
  const height = multiple(info.height * scale);
  const shrunk = await greyPixels(sharp(data, { raw: info }).resize({ width, height, fit: 'fill', kernel: 'linear' }));
  const areas = await runModel(session, shrunk, (levels) => areasOf(levels, width, height, PIXEL));
  return areas
    .filter((area) => area.mean >= LINE && Math.min(area.x1 - area.x0, area.y1 - area.y0) >= MIN_SIDE)
    .slice(0, MAX_LINES)
    .map((area) => placeOf(area, info, { x: info.width / width, y: info.height / height }));
}

const multiple = (pixels: number) => Math.max(STRIDE, Math.round(pixels / STRIDE) * STRIDE);

/** @param factor pixels of the page for each pixel of the model's picture */
function placeOf({ x0, y0, x1, y1 }: Area, page: GreyPixels['info'], factor: { x: number; y: number }): LinePlace {
  const growth = ((x1 - x0) * (y1 - y0) * GROWTH) / (2 * (x1 - x0 + y1 - y0));
  const onPage = (by: number): Box => ({
    x0: Math.max(0, Math.round((x0 - by) * factor.x)),
    y0: Math.max(0, Math.round((y0 - by) * factor.y)),
    x1: Math.min(page.width, Math.round((x1 + by) * factor.x)),
    y1: Math.min(page.height, Math.round((y1 + by) * factor.y)),
  });
  return { box: onPage(growth), core: onPage(0) };
}
