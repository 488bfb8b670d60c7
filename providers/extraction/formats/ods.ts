import * as cheerio from 'cheerio';
import { type Extraction, ExtractionError } from '../../../domain/extraction.js';
import type { ExtractionLimits } from '../limits.js';
import { createCellCount } from '../tables/cells.js';
import type { Grid } from '../tables/layout.js';
import { tableSections } from '../tables/sections.js';
import { checkArchive, readEntries } from './archive.js';

const CONTENT = 'content.xml';
const META = 'meta.xml';

/**
 * The tables of an OpenDocument workbook's visible sheets, with values as they are displayed. `officeparser` is not used,
 * because it drops covered cells, which assigns the values right of a merged cell to the wrong columns.
 * @throws ExtractionError as `checkArchive`, and E2003 with too many cells
 */
export async function extractOds(path: string, limits: ExtractionLimits): Promise<Extraction> {
  await checkArchive(path, limits);
  const entries = await readEntries(path, (name) => name === CONTENT || name === META);
  const xml = entries.get(CONTENT);
  if (xml === undefined) throw new ExtractionError('E2001');
  const $ = cheerio.load(xml, { xml: true });
  $('text\\:s, text\\:tab, text\\:line-break').replaceWith(' ');
  const hidden = hiddenStyles($);
  const count = createCellCount();
  const sections = $('office\\:spreadsheet > table\\:table')
    .toArray()
    .filter((table) => !hidden.has($(table).attr('table:style-name') ?? ''))
    .flatMap((table) => tableSections(gridOf($, table, count), { sheet: $(table).attr('table:name') ?? '' }));
  const title = cheerio
    .load(entries.get(META) ?? '', { xml: true })('dc\\:title')
    .text()
    .trim();
  return { title: title || null, sections };
}

type Node = Parameters<cheerio.CheerioAPI['contains']>[0];

function hiddenStyles($: cheerio.CheerioAPI): Set<string> {
  const properties = $('style\\:style > style\\:table-properties[table\\:display="false"]').toArray();
  return new Set(properties.map((node) => $(node).parent().attr('style:name') ?? ''));
}

function gridOf($: cheerio.CheerioAPI, table: Node, count: (cells: number) => void): Grid {
  const rows: string[][] = [];
  const spans: NonNullable<Grid['spans']> = [];
  let skipped = 0;
  for (const node of $(table).find('table\\:table-row').toArray()) {
    const repeated = countOf($(node).attr('table:number-rows-repeated'));
    const row: string[] = [];
    // Empty cells count only when one with text follows: Excel fills each row to 16,384 columns.
    let empty = 0;
    for (const cell of $(node).children('table\\:table-cell, table\\:covered-table-cell').toArray()) {
      const covered = (cell as { name?: string }).name === 'table:covered-table-cell';
      const text = covered ? '' : textOf($, cell);
      const [height, width] = ['rows', 'columns'].map((axis) => countOf($(cell).attr(`table:number-${axis}-spanned`)));
      const [top, left] = [rows.length + skipped, row.length + empty];
      if (height! > 1 || width! > 1) spans.push({ top, left, bottom: top + height! - 1, right: left + width! - 1 });
      const columns = countOf($(cell).attr('table:number-columns-repeated'));
      if (text === '') {
        empty += columns;
        continue;
      }
      count(empty + columns);
      for (; empty > 0; empty--) row.push('');
      for (let n = 0; n < columns; n++) row.push(text);
    }
    // Empty rows count only when a row with text follows: a sheet ends with a million of them.
    if (row.length === 0) skipped += repeated;
    else {
      count(skipped + row.length * repeated);
      for (; skipped > 0; skipped--) rows.push([]);
      for (let n = 0; n < repeated; n++) rows.push(row);
    }
  }
  return { rows, spans };
}

function textOf($: cheerio.CheerioAPI, cell: Node): string {
  return $(cell)
    .children('text\\:p')
    .toArray()
    .map((paragraph) => $(paragraph).text())
    .join(' ');
}

const countOf = (stated = '1') => Math.max(1, Number.parseInt(stated, 10) || 1);
