import { readFile } from 'node:fs/promises';
import * as sheetjs from '@e965/xlsx';
import * as codepages from '@e965/xlsx/dist/cpexcel.full.mjs';
import { type ExtractedSection, type Extraction, ExtractionError } from '../../../domain/extraction.js';
import { createCellCount, dateText } from '../tables/cells.js';
import type { Grid } from '../tables/layout.js';
import { tableSections } from '../tables/sections.js';

// For texts of workbooks from before Excel 97.
sheetjs.set_cptable(codepages);

/**
 * The tables of the visible sheets of a workbook of Excel 2003 or earlier. Formulas are read as their last values.
 * @throws ExtractionError E2001 damaged, E2002 with a password, E2003 with too many cells
 */
export async function extractXls(path: string): Promise<Extraction> {
  const workbook = open(await readFile(path));
  const sections: ExtractedSection[] = [];
  const count = createCellCount();
  for (const [index, sheet] of workbook.SheetNames.entries()) {
    if (workbook.Workbook?.Sheets?.[index]?.Hidden) continue;
    sections.push(...tableSections(gridOf(workbook.Sheets[sheet]!, count), { sheet }));
  }
  return { title: workbook.Props?.Title?.trim() || null, sections };
}

function open(file: Buffer): sheetjs.WorkBook {
  try {
    return sheetjs.read(file, {
      type: 'buffer',
      dense: true,
      cellDates: true,
      UTC: true,
      cellFormula: false,
      cellNF: true,
    });
  } catch (error) {
    if (error instanceof RangeError) throw error;
    // The library has no error codes.
    throw new ExtractionError(/password|encrypt/i.test((error as Error).message) ? 'E2002' : 'E2001');
  }
}

function gridOf(sheet: sheetjs.WorkSheet, count: (cells: number) => void): Grid {
  const rows = Array.from(sheet['!data'] ?? [], (row) => {
    const width = row?.length ?? 0;
    count(Math.max(1, width));
    return Array.from({ length: width }, (_, column) => cellText(row![column]));
  });
  const spans = (sheet['!merges'] ?? []).map(({ s, e }) => ({ top: s.r, left: s.c, bottom: e.r, right: e.c }));
  return { rows, spans };
}

const DAY_0 = Date.UTC(1899, 11, 31);

function cellText(cell?: sheetjs.CellObject): string {
  if (!cell || cell.t === 'z' || cell.v === undefined) return '';
  if (cell.t === 'e') return cell.w ?? '';
  if (!(cell.v instanceof Date)) return String(cell.v);
  // 1 January 1900 is how some databases write "no date". A time or a duration is not shown with a year.
  return dateText(cell.v, /y/i.test(String(cell.z)) ? Number.NaN : DAY_0);
}
