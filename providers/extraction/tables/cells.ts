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

const [SECOND, DAY] = [1_000, 86_400_000];
/** A date that is so near to day 0 is a duration: no table is about January 1900. */
const LONGEST_DURATION = 31 * DAY;

/**
 * A date without the time of midnight; a time of day or a duration as hours, minutes and seconds.
 * @param day0 the date that the library makes of the number 0: a time of day is on it
 */
export function dateText(date: Date, day0: number): string {
  const elapsed = date.getTime() - day0;
  if (elapsed >= 0 && elapsed < LONGEST_DURATION) return clockText(Math.round(elapsed / SECOND));
  return date
    .toISOString()
    .replace(/T00:00:00\.000Z$/, '')
    .replace(/\.000Z$/, '');
}

function clockText(seconds: number): string {
  const parts = [seconds / 3_600, (seconds / 60) % 60, seconds % 60];
  return parts.map((part) => String(Math.floor(part)).padStart(2, '0')).join(':');
}
