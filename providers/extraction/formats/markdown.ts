import { readFile } from 'node:fs/promises';
import type { Extraction } from '../../../domain/extraction.js';
import { decodeText } from '../plain-text.js';
import { HeadingSections } from './headings.js';

/** The line under a table's header. */
const DELIMITER_ROW = /^ {0,3}\|?(\s*:?-+:?\s*\|)+(\s*:?-+:?\s*)?$/;

/** Headings become the headings of sections. All other markup stays: small tables, lists and code are readable as they are. */
export async function extractMarkdown(path: string): Promise<Extraction> {
  const { title, body } = splitFrontMatter(decodeText(await readFile(path)));
  const sections = new HeadingSections();
  let block: string[] = [];
  let fence: string | null = null;
  let first: string | null = null;
  const close = () => {
    const text = block.join('\n');
    if (DELIMITER_ROW.test(block[1] ?? '') && block[0]!.includes('|')) sections.table({ rows: cellsOf(block) }, text);
    else sections.paragraph(text);
    block = [];
  };
  const heading = (level: number, text: string) => {
    sections.heading(level, text);
    if (level === 1) first ??= text;
  };
  for (const line of body.split('\n')) {
    const mark = /^\s{0,3}(`{3,}|~{3,})/.exec(line)?.[1]?.slice(0, 3);
    if (mark && (fence === null || fence === mark)) fence = fence === null ? mark : null;
    const atx = fence === null && /^ {0,3}(#{1,6})\s(?=.*\S)(.*)$/.exec(line);
    const underline = fence === null && block.length === 1 && /^ {0,3}(=+|-{2,})\s*$/.exec(line);
    if (atx) {
      close();
      heading(atx[1]!.length, plain(withoutClosingMarks(atx[2]!)));
    } else if (underline) {
      heading(underline[1]!.startsWith('=') ? 1 : 2, plain(block.pop()!));
    } else if (line.trim() === '' && fence === null) {
      close();
    } else {
      block.push(line);
    }
  }
  close();
  return { title: title ?? first, sections: sections.finish() };
}

function cellsOf([header, , ...rows]: string[]): string[][] {
  const cells = (line: string) =>
    line
      .trim()
      .replace(/^\||(?<!\\)\|$/g, '')
      .split(/(?<!\\)\|/)
      .map((cell) => cell.replaceAll('\\|', '|').trim());
  return [cells(header!), ...rows.map(cells)];
}

/** "## Title ##" may be closed by the marks that opened it. */
const withoutClosingMarks = (text: string): string => text.trim().replace(/(?<=\s)#+$/, '');

/** A heading without its emphasis and links. */
function plain(text: string): string {
  return text
    .replace(/!?\[([^[\]]*)\]\([^()]*(?:\([^()]*\)[^()]*)*\)/g, '$1')
    .replace(/[*_`]{1,3}(\S[^*_`]*)[*_`]{1,3}/g, '$1')
    .trim();
}

function splitFrontMatter(text: string): { title: string | null; body: string } {
  const matter = /^---\n([\s\S]*?)\n(?:---|\.\.\.)\n/.exec(text);
  if (!matter) return { title: null, body: text };
  const title = /^title:(.*)$/m
    .exec(matter[1]!)?.[1]
    ?.trim()
    .replace(/^["']|["']$/g, '');
  return { title: title || null, body: text.slice(matter[0].length) };
}
