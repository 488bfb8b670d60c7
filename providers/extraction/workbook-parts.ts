import { posix } from 'node:path';
import * as cheerio from 'cheerio';
import { readEntries, scanEntry } from './archive-limits.js';
import { relations } from './pptx-order.js';
import type { Span } from './table-layout.js';

const WORKBOOK = 'xl/workbook.xml';
const WORKBOOK_RELATIONS = 'xl/_rels/workbook.xml.rels';
/** Longer than any range of cells as it is written. */
const OVERLAP = 200;
/** A sheet of forms may have some hundreds; more are made to cost time. */
const MAX_SPANS = 20_000;

export interface SheetPart {
  name: string;
  hidden: boolean;
  /** Name of its entry. */
  entry: string | null;
}

/** The sheets of an XLSX in their order, with what the reader of its cells does not tell. */
export async function sheetParts(path: string): Promise<SheetPart[]> {
  const parts = await readEntries(path, (name) => name === WORKBOOK || name === WORKBOOK_RELATIONS);
  const targets = relations(parts.get(WORKBOOK_RELATIONS));
  const $ = cheerio.load(parts.get(WORKBOOK) ?? '', { xml: true });
  return $('sheets > sheet, x\\:sheets > x\\:sheet')
    .toArray()
    .map((node) => {
      const target = targets.get($(node).attr('r:id') ?? '');
      return {
        name: $(node).attr('name') ?? '',
        hidden: /hidden$/i.test($(node).attr('state') ?? ''),
        entry: target === undefined ? null : posix.resolve('/xl', target).slice(1),
      };
    });
}

/** Merged cells of a sheet. They stand at its end, so it is looked through as it inflates. */
export async function mergedCells(path: string, entry: string): Promise<Span[]> {
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

/** "B3" is row 2, column 1: both from 0. */
function cell(reference: string): { row: number; column: number } {
  const [, letters = '', digits = ''] = /^([A-Z]+)(\d+)$/.exec(reference) ?? [];
  const column = [...letters].reduce((sum, letter) => sum * 26 + letter.charCodeAt(0) - 64, 0) - 1;
  return { row: Number(digits) - 1, column };
}
