import type { Box } from '../picture.js';

/** A box around pixels that are connected. `x1` and `y1` are the first column and row after it. */
export interface Area extends Box {
  /** Mean of the levels of all pixels in the box. */
  mean: number;
}

/**
 * Finds the areas of pixels above a level that are connected, also over a corner.
 * @param levels row by row
 */
export function areasOf(levels: Float32Array, width: number, height: number, above: number): Area[] {
  const areas: Area[] = [];
  const seen = new Uint8Array(levels.length);
  const waiting: number[] = [];
  const take = (at: number) => {
    if (seen[at] || levels[at]! <= above) return;
    seen[at] = 1;
    waiting.push(at);
  };
  for (let start = 0; start < levels.length; start++) {
    take(start);
    if (waiting.length === 0) continue;
    const box = { x0: width, y0: height, x1: 0, y1: 0 };
    for (let at = waiting.pop(); at !== undefined; at = waiting.pop()) {
      const [x, y] = [at % width, Math.floor(at / width)];
      box.x0 = Math.min(box.x0, x);
      box.x1 = Math.max(box.x1, x + 1);
      box.y0 = Math.min(box.y0, y);
      box.y1 = Math.max(box.y1, y + 1);
      for (let row = Math.max(0, y - 1); row <= Math.min(height - 1, y + 1); row++)
        for (let column = Math.max(0, x - 1); column <= Math.min(width - 1, x + 1); column++)
          take(row * width + column);
    }
    areas.push({ ...box, mean: meanOf(levels, width, box) });
  }
  return areas;
}

function meanOf(levels: Float32Array, width: number, { x0, y0, x1, y1 }: Box): number {
  let sum = 0;
  for (let y = y0; y < y1; y++) for (let x = x0; x < x1; x++) sum += levels[y * width + x]!;
  return sum / ((x1 - x0) * (y1 - y0));
}
