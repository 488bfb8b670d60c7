import { ExtractionError } from '../../../domain/extraction.js';

/** A few bytes of a workbook can claim a row of 256 columns, or repeat a cell many times, so the expanded cells are counted. */
const MAX_CELLS = 2_000_000;

/** @returns a function that counts cells of a workbook and throws ExtractionError E2003 when there are too many */
export function createCellCount(): (cells: number) => void {
  let left = MAX_CELLS;
  return (cells) => {
    left -= cells;
    if (left < 0) throw new ExtractionError('E2003', 'The workbook has too many cells.');
  };
}

/** A date without the time of midnight. */
export const dateText = (date: Date): string =>
  date
    .toISOString()
    .replace(/T00:00:00\.000Z$/, '')
    .replace(/\.000Z$/, '');
