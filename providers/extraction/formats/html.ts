import { readFile } from 'node:fs/promises';
import * as cheerio from 'cheerio';
import { Parser, type ParserOptions } from 'htmlparser2';
import { type Extraction, ExtractionError, HEAD_BYTES } from '../../../domain/extraction.js';
import { asCode } from '../code-marks.js';
import { cleanText, encodingOf } from '../plain-text.js';
import type { Grid, Span } from '../tables/layout.js';
import { HeadingSections } from './headings.js';

type AnyNode = NonNullable<Exclude<Parameters<typeof cheerio.load>[0], string | Buffer | unknown[]>>;
type Element = Extract<AnyNode, { tagName: string }>;

/** Elements that are not content. */
const NOISE =
  'script, style, noscript, template, svg, iframe, nav, button, select, form textarea, form datalist, [hidden], ' +
  '[aria-hidden="true"], [style*="display:none" i], [style*="display: none" i]';
/** Code within a line. */
const CODE = new Set(['code', 'samp', 'tt']);
const CODE_CLASS = '[class*="highlight"], [class*="code"], [class*="language-"], [class*="lang-"], [class*="source"]';
const LAYOUT = 'table, h1, h2, h3, h4, h5, h6, ul, ol, p + p';
const MAX_SPAN = 100;
const SELF_CLOSING = { xmlMode: false, recognizeSelfClosing: true } as const satisfies ParserOptions;
/** Browsers build 512 levels. The time of the tree builder grows with the square of the depth. */
const MAX_DEPTH = 1_000;
/** Elements without an end tag close each other, so that they alone cannot nest. */
const OPTIONAL_END = new Set('p li dt dd tr td th thead tbody tfoot colgroup option optgroup rt rp'.split(' '));
const BLOCKS = new Set(
  (
    'address article aside blockquote body dd details div dl dt fieldset figcaption figure footer form header hr li main ol p ' +
    'pre section summary table tbody td tfoot th thead tr ul'
  ).split(' '),
);

/**
 * A web page: its title, and the text and tables under each heading. Navigation, scripts and styles are left out.
 * @throws ExtractionError E2003 nested too deeply
 */
export async function extractHtml(path: string): Promise<Extraction> {
  const file = await readFile(path);
  // Tags are ASCII in every encoding that has no zero bytes.
  checkDepth(file.toString('latin1'));
  // A byte order mark or the page's own charset declaration applies. Without both, the encoding is detected as that of a text.
  return pageOf(cheerio.loadBuffer(file, { encoding: { defaultEncoding: encodingOf(file), maxBytes: HEAD_BYTES } }));
}

/** Reads HTML as `extractHtml` does. @throws ExtractionError E2003 nested too deeply */
export function readHtml(html: string): Extraction {
  checkDepth(html);
  return pageOf(cheerio.load(html));
}

/** Reads XHTML, where any element can close itself (`<title/>`). @throws ExtractionError E2003 nested too deeply */
export function readXhtml(xhtml: string): Extraction {
  checkDepth(xhtml, SELF_CLOSING);
  return pageOf(cheerio.load(xhtml, { xml: SELF_CLOSING }));
}

/** Adds HTML within another format, such as a table in Markdown, without a page around it. */
export function readFragment(html: string, sections: HeadingSections): void {
  checkDepth(html);
  const $ = cheerio.load(html, null, false);
  $(NOISE).remove();
  readNodes($, $.root().contents().toArray(), sections);
}

function pageOf($: cheerio.CheerioAPI): Extraction {
  const title = cleanText($('title').first().text()).replace(/\s+/g, ' ').trim();
  $(NOISE).remove();
  const sections = new HeadingSections();
  readNodes($, $('body').contents().toArray(), sections);
  return { title: title || null, sections: sections.finish() };
}

function readNodes($: cheerio.CheerioAPI, nodes: readonly AnyNode[], sections: HeadingSections): void {
  let line = '';
  /** The numbers of the lists around, null for bullets. */
  const lists: (number | null)[] = [];
  const close = () => {
    sections.paragraph(line.replace(/[^\S\n]+/g, ' ').replace(/(?<! ) *\n */g, '\n'));
    line = '';
  };
  const readList = (list: Element): void => {
    close();
    lists.push(list.name === 'ol' ? numberOf($(list).attr('start')) : null);
    for (const child of list.children) visit(child);
    close();
    lists.pop();
    if (lists.length === 0) sections.endList();
  };
  const startItem = (): void => {
    const number = lists.at(-1) ?? null;
    sections.item(Math.max(1, lists.length), number);
    if (number !== null) lists[lists.length - 1] = number + 1;
  };
  const visit = (node: AnyNode): void => {
    if (node.type === 'text') {
      line += cleanText(node.data).replace(/\s+/g, ' ');
      return;
    }
    if (node.type !== 'tag' && node.type !== 'root') return;
    const name = node.type === 'tag' ? node.name : '';
    if (name === 'br') line += '\n';
    else if (/^h[1-6]$/.test(name)) {
      close();
      sections.heading(Number(name[1]), lineOf(node as Element));
    } else if (name === 'ul' || name === 'ol') readList(node as Element);
    else if (name === 'pre') {
      close();
      const text = preformatted($, node as Element);
      if (isCode($, node as Element)) sections.code(text);
      else sections.paragraph(text);
    } else if (CODE.has(name)) line += asCode(lineOf(node as Element));
    else if (name === 'table' && isTable($, node as Element)) {
      close();
      sections.table(gridOf($, node as Element));
    } else if (name === 'tr') {
      close();
      line = cellsOf($, node as Element).join('; ');
      close();
    } else {
      const block = BLOCKS.has(name);
      if (block) close();
      if (name === 'li') startItem();
      for (const child of node.children) visit(child);
      if (block) close();
    }
  };
  for (const node of nodes) visit(node);
  close();
}

/** The first number of a list. */
const numberOf = (start = '1') => Number.parseInt(start, 10) || 1;

/** The text of an element as one line, with marks around code. Breaks and blocks within it are spaces. */
function lineOf(element: Element): string {
  const textOf = (node: AnyNode): string => {
    if (node.type === 'text') return cleanText(node.data);
    if (node.type !== 'tag') return '';
    const text = node.children.map(textOf).join('');
    if (CODE.has(node.name)) return asCode(text);
    return node.name === 'br' || BLOCKS.has(node.name) ? ` ${text} ` : text;
  };
  return element.children.map(textOf).join('').replace(/\s+/g, ' ').trim();
}

/** The lines of preformatted text. Some pages have an element for each line instead of line ends. */
function preformatted($: cheerio.CheerioAPI, element: Element): string {
  $(element).find('br').replaceWith('\n');
  $(element).find('div').append('\n');
  return cleanText($(element).text());
}

/** Preformatted text is code when the page says so: letters and poems are preformatted too. */
function isCode($: cheerio.CheerioAPI, element: Element): boolean {
  return $(element).find('code, samp').length > 0 || $(element).closest(CODE_CLASS).length > 0;
}

/** Before a tree is built of HTML or XML. @throws ExtractionError E2003 nested too deeply */
export function checkDepth(html: string, options: ParserOptions = {}): void {
  let depth = 0;
  const parser = new Parser(
    {
      onopentag(name) {
        if (!OPTIONAL_END.has(name) && ++depth > MAX_DEPTH)
          throw new ExtractionError('E2003', 'It is nested too deeply.');
      },
      onclosetag(name) {
        if (!OPTIONAL_END.has(name)) depth--;
      },
    },
    options,
  );
  parser.end(html);
}

/** Tables are also used for layout: one with headings, lists or other tables inside holds no data. */
function isTable($: cheerio.CheerioAPI, table: Element): boolean {
  const rows = $(table).find('tr').toArray();
  return (
    $(table).find(LAYOUT).length === 0 && rows.length >= 2 && rows.some((row) => $(row).children('td, th').length >= 2)
  );
}

function gridOf($: cheerio.CheerioAPI, table: Element): Grid {
  const caption = $(table).children('caption').toArray().map(lineOf).join(' ');
  const rows: string[][] = caption === '' ? [] : [[caption]];
  const spans: Span[] = [];
  const headers: number[] = [];
  const covered = new Set<string>();
  for (const node of $(table).find('tr').toArray()) {
    const row: string[] = [];
    const cells = $(node).children('td, th').toArray();
    if (cells.length > 1 && cells.every(({ name }) => name === 'th')) headers.push(rows.length);
    for (const cell of cells) {
      const [height, width] = [spanOf($(cell).attr('rowspan')), spanOf($(cell).attr('colspan'))];
      while (covered.has(`${rows.length}/${row.length}`)) row.push('');
      const [top, left] = [rows.length, row.length];
      for (let down = 1; down < height; down++)
        for (let right = 0; right < width; right++) covered.add(`${top + down}/${left + right}`);
      if (height > 1 || width > 1) spans.push({ top, left, bottom: top + height - 1, right: left + width - 1 });
      row.push(lineOf(cell), ...Array<string>(width - 1).fill(''));
    }
    rows.push(row);
  }
  // The two rows of a header with groups are found by their merged cells.
  return headers.length === 1 ? { rows, spans, header: headers[0]! } : { rows, spans };
}

/** Spans come from the file and cost memory, so they are bounded. */
const spanOf = (stated = '1') => Math.min(Math.max(1, Number.parseInt(stated, 10) || 1), MAX_SPAN);

/** A row of a layout table is one line, because its cells belong together. */
function cellsOf($: cheerio.CheerioAPI, row: Element): string[] {
  return $(row)
    .children('td, th')
    .toArray()
    .map(lineOf)
    .filter((cell) => cell !== '');
}
