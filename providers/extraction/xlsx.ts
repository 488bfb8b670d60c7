import readWorkbook from 'read-excel-file/node';
import { type Extraction, ExtractionError } from '../../domain/extraction.js';
import { checkArchive } from './archive-limits.js';
import type { ExtractionLimits } from './limits.js';
import { rowsToSections } from './rows.js';

/**
 * A workbook, each sheet's rows as lines of `header: value`; dates are read as dates, formulas as their last values.
 * @throws ExtractionError as `checkArchive`, and E2001 when the sheets cannot be read
 */
export async function extractWorkbook(path: string, limits: ExtractionLimits): Promise<Extraction> {
  await checkArchive(path, limits);
  const sheets = await readWorkbook(path).catch(() => {
    throw new ExtractionError('E2001');
  });
  return {
    title: null,
    sections: sheets.flatMap(({ sheet, data }) =>
      rowsToSections(
        data.map((row) => row.map(cellText)),
        { sheet },
      ),
    ),
  };
}

function cellText(cell: unknown): string {
  if (cell === null || cell === undefined) return '';
  if (cell instanceof Date)
    return cell
      .toISOString()
      .replace(/T00:00:00\.000Z$/, '')
      .replace(/\.000Z$/, '');
  return String(cell);
}
