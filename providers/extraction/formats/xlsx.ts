import { posix } from 'node:path';
import * as cheerio from 'cheerio';
import readWorkbook from 'read-excel-file/node';
import { type ExtractedSection, type Extraction, ExtractionError } from '../../../domain/extraction.js';
import type { ExtractionLimits } from '../limits.js';
import { dateText } from '../tables/cells.js';
import type { Span } from '../tables/layout.js';
import { tableSections } from '../tables/sections.js';
import { checkArchive, readEntries, relationshipTargets, scanEntry } from './archive.js';

/**
 * The tables of a workbook's visible sheets. Formulas are read as their last values.
 * @throws ExtractionError as `checkArchive`, and E2001 when the sheets cannot be read
 */
export async function extractXlsx(path: string, limits: ExtractionLimits): Promise<Extraction> {
  await checkArchive(path, limits);
  const sheets = await readWorkbook(path).catch(async () => {
    // SheetJS leaves out the sheets of a damaged workbook that it cannot read.
    if (!(await lacksAddresses(path))) throw new ExtractionError('E2001');
    return null;
  });
  // The library needs the address of each cell, which a workbook may leave out.
  if (!sheets) return (await import('./xls.js')).extractXls(path);
  const entries = new Map((await sheetEntries(path)).map((entry) => [entry.name, entry]));
  const sections: ExtractedSection[] = [];
  for (const { sheet, data } of sheets) {
    const entry = entries.get(sheet);
    if (entry?.hidden) continue;
    const spans = entry?.path ? await mergedCells(path, entry.path) : [];
    sections.push(...tableSections({ rows: data.map((row) => row.map(cellText)), spans }, { sheet }));
  }
  return { title: null, sections };
}

const DAY_0 = Date.UTC(1899, 11, 30);

function cellText(cell: unknown): string {
  if (cell === null || cell === undefined) return '';
  return cell instanceof Date ? dateText(cell, DAY_0) : String(cell);
}

const WORKBOOK = 'xl/workbook.xml';
const WORKBOOK_RELATIONS = 'xl/_rels/workbook.xml.rels';
/** Characters; longer than any `mergeCell` element. */
const OVERLAP = 200;
/** A sheet of forms has some hundreds. More are an attempt to waste time. */
const MAX_SPANS = 20_000;

interface SheetEntry {
  name: string;
  hidden: boolean;
  /** Name of its entry in the archive. */
  path: string | null;
}

/** The sheets of a workbook in order, with what `read-excel-file` does not report. */
async function sheetEntries(path: string): Promise<SheetEntry[]> {
  const entries = await readEntries(path, (name) => name === WORKBOOK || name === WORKBOOK_RELATIONS);
  const targets = relationshipTargets(entries.get(WORKBOOK_RELATIONS));
  const $ = cheerio.load(entries.get(WORKBOOK) ?? '', { xml: true });
  return $('sheets > sheet, x\\:sheets > x\\:sheet')
    .toArray()
    .map((node) => {
      const target = targets.get($(node).attr('r:id') ?? '');
      return {
        name: $(node).attr('name') ?? '',
        hidden: /hidden$/i.test($(node).attr('state') ?? ''),
        path: target === undefined ? null : posix.resolve('/xl', target).slice(1),
      };
    });
}

/** Whether a sheet has a cell without its address. */
async function lacksAddresses(path: string): Promise<boolean> {
  let lacks = false;
  for (const { path: entry } of await sheetEntries(path)) {
    if (entry === null) continue;
    let tail = '';
    await scanEntry(path, entry, (text) => {
      const window = tail + text;
      lacks ||= /<(?:\w+:)?c(?=[\s/>])(?![^>]{0,200}\sr=)[^>]{0,200}>/.test(window);
      tail = window.slice(-OVERLAP);
    });
  }
  return lacks;
}

/** The merged cells of a sheet. They are listed at its end, so the entry is searched as a stream. */
async function mergedCells(path: string, entry: string): Promise<Span[]> {
  const spans = new Map<string, Span>();
  let tail = '';
  await scanEntry(path, entry, (text) => {
    const window = tail + text;
    for (const [, from, to] of window.matchAll(/<(?:\w+:)?mergeCell\s+ref="([A-Z]{1,3}\d+):([A-Z]{1,3}\d+)"/g)) {
      const [first, last] = [cell(from!), cell(to!)];
      if (spans.size < MAX_SPANS)
        spans.set(`${from}:${to}`, { top: first.row, left: first.column, bottom: last.row, right: last.column });
    }
    tail = window.slice(-OVERLAP);
  });
  return [...spans.values()];
}

/** "B3" is row 2, column 1, both counted from 0. */
function cell(reference: string): { row: number; column: number } {
  const [, letters = '', digits = ''] = /^([A-Z]+)(\d+)$/.exec(reference) ?? [];
  const column = [...letters].reduce((sum, letter) => sum * 26 + letter.charCodeAt(0) - 64, 0) - 1;
  return { row: Number(digits) - 1, column };
}
