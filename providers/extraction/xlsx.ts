import readWorkbook from 'read-excel-file/node';
import { type ExtractedSection, type Extraction, ExtractionError } from '../../domain/extraction.js';
import { checkArchive } from './archive-limits.js';
import type { ExtractionLimits } from './limits.js';
import { tableSections } from './rows.js';
import { mergedCells, sheetParts } from './workbook-parts.js';

/**
 * A workbook, each sheet's rows as lines of `header: value`; dates are read as dates, formulas as their last values. What is
 * hidden from a reader is not read: hidden sheets are left out.
 * @throws ExtractionError as `checkArchive`, and E2001 when the sheets cannot be read
 */
export async function extractWorkbook(path: string, limits: ExtractionLimits): Promise<Extraction> {
  await checkArchive(path, limits);
  const sheets = await readWorkbook(path).catch(() => {
    throw new ExtractionError('E2001');
  });
  const parts = new Map((await sheetParts(path)).map((part) => [part.name, part]));
  const sections: ExtractedSection[] = [];
  for (const { sheet, data } of sheets) {
    const part = parts.get(sheet);
    if (part?.hidden) continue;
    const spans = part?.entry ? await mergedCells(path, part.entry) : [];
    sections.push(...tableSections({ rows: data.map((row) => row.map(cellText)), spans }, { sheet }));
  }
  return { title: null, sections };
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
