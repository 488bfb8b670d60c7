import { readFile } from 'node:fs/promises';
import * as cheerio from 'cheerio';
import type { Extraction } from '../../domain/extraction.js';
import { HeadingSections } from './headings.js';
import { cleanText } from './text-encoding.js';

type AnyNode = NonNullable<Exclude<Parameters<typeof cheerio.load>[0], string | Buffer | unknown[]>>;
type Element = Extract<AnyNode, { tagName: string }>;

/** What a reader does not read. */
const NOISE =
  'script, style, noscript, template, svg, iframe, nav, form, button, select, [hidden], [aria-hidden="true"]';
const BLOCKS = new Set(
  (
    'address article aside blockquote body dd details div dl dt fieldset figcaption figure footer header hr li main ol p ' +
    'pre section summary table tbody td tfoot th thead tr ul'
  ).split(' '),
);

/** A web page: its title, and the text under each heading, without navigation, scripts and styles. */
export async function extractHtml(path: string): Promise<Extraction> {
  // The page's own charset declaration is heard where there is no byte order mark.
  const $ = cheerio.loadBuffer(await readFile(path));
  const title = cleanText($('title').first().text()).replace(/\s+/g, ' ').trim();
  $(NOISE).remove();
  const gathered = new HeadingSections();
  let line = '';
  const close = () => {
    gathered.paragraph(line.replace(/[^\S\n]+/g, ' ').replace(/ *\n */g, '\n'));
    line = '';
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
      gathered.heading(Number(name[1]), $(node as Element).text());
    } else if (name === 'tr') {
      close();
      line = cellsOf($, node as Element);
      close();
    } else {
      const block = BLOCKS.has(name);
      if (block) close();
      if (name === 'li') line += '- ';
      for (const child of node.children) visit(child);
      if (block) close();
    }
  };
  for (const node of $('body').contents().toArray()) visit(node);
  close();
  return { title: title || null, sections: gathered.end() };
}

/** A row stays one line: its cells apart would lose what belongs together. */
function cellsOf($: cheerio.CheerioAPI, row: Element): string {
  return $(row)
    .children('td, th')
    .toArray()
    .map((cell) => $(cell).text().replace(/\s+/g, ' ').trim())
    .filter((cell) => cell !== '')
    .join('; ');
}
