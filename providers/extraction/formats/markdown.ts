import { readFile } from 'node:fs/promises';
import MarkdownIt, { type Token } from 'markdown-it';
import type { Extraction } from '../../../domain/extraction.js';
import { asCode } from '../code-marks.js';
import { decodeText } from '../plain-text.js';
import { HeadingSections } from './headings.js';

const parser = new MarkdownIt({ html: true });
const PIPES = /^\s*\|.*\|\s*$/;
/** The line under a table's header. */
const DELIMITER = /^[\s|:-]+$/;
/** Fences that are never closed. More in one file are read as one block of code. */
const MAX_UNCLOSED = 10;

type ReadHtml = (html: string, sections: HeadingSections) => void;

/** Markdown (CommonMark, with the tables of GitHub) without its marks: text, lists, tables and code under each heading. */
export async function extractMarkdown(path: string): Promise<Extraction> {
  const { title, body } = splitFrontMatter(decodeText(await readFile(path)));
  const sections = new HeadingSections();
  let rest = body;
  let first: string | null = null;
  for (let unclosed = 0; rest !== ''; unclosed++) {
    const tokens = parser.parse(rest, {});
    const readHtml = tokens.some(({ type }) => type === 'html_block')
      ? (await import('./html.js')).readFragment
      : ignore;
    const end = unclosed < MAX_UNCLOSED ? repairFence(tokens, rest) : null;
    readBlocks(tokens, sections, readHtml);
    first ??= firstHeading(tokens);
    rest = end ?? '';
  }
  return { title: title ?? first, sections: sections.finish() };
}

const ignore: ReadHtml = () => undefined;

/** Adds the blocks of a document in order. */
function readBlocks(tokens: readonly Token[], sections: HeadingSections, readHtml: ReadHtml): void {
  let depth = 0;
  let rows: string[][] = [];
  for (const [at, token] of tokens.entries()) {
    switch (token.type) {
      case 'bullet_list_open':
      case 'ordered_list_open':
        depth += 1;
        break;
      case 'bullet_list_close':
      case 'ordered_list_close':
        depth -= 1;
        if (depth === 0) sections.endList();
        break;
      case 'list_item_open':
        sections.item(depth, token.info === '' ? null : Number(token.info));
        break;
      case 'table_open':
        rows = [];
        break;
      case 'tr_open':
        rows.push([]);
        break;
      case 'table_close':
        sections.table({ rows, header: rows[0]!.some((cell) => cell !== '') ? 0 : null });
        break;
      case 'fence':
      case 'code_block':
        sections.code(token.content);
        break;
      case 'html_block':
        readHtml(token.content, sections);
        break;
      case 'inline':
        readInline(token, tokens[at - 1]!, sections, rows);
    }
  }
}

/** @param opening the token before, which says what the text is */
function readInline(token: Token, opening: Token, sections: HeadingSections, rows: string[][]): void {
  const lines = token.content.split('\n');
  if (opening.type === 'th_open' || opening.type === 'td_open') rows.at(-1)!.push(inlineText(token.children));
  // A heading in a quotation or a list is none of the document.
  else if (opening.type === 'heading_open' && opening.level === 0)
    sections.heading(Number(opening.tag.slice(1)), inlineText(token.children));
  else if (lines.every((line) => PIPES.test(line))) sections.table({ rows: rowsOf(lines), header: null });
  else sections.paragraph(inlineText(token.children));
}

/** The rows of a table without a header, which GitHub does not take for a table. */
function rowsOf(lines: readonly string[]): string[][] {
  return lines
    .filter((line) => !DELIMITER.test(line))
    .map((line) =>
      line
        .trim()
        .slice(1, -1)
        .split(/(?<!\\)\|/)
        .map((cell) => inlineText(parser.parseInline(cell.replaceAll('\\|', '|').trim(), {})[0]!.children)),
    );
}

function firstHeading(tokens: readonly Token[]): string | null {
  const at = tokens.findIndex(({ type, tag, level }) => type === 'heading_open' && tag === 'h1' && level === 0);
  if (at === -1) return null;
  return (
    inlineText(tokens[at + 1]!.children)
      .replace(/\s+/g, ' ')
      .trim() || null
  );
}

/**
 * Ends a fence that is never closed at the first empty line, because most of what follows is text. Its token is shortened.
 * @returns the text that follows, which must be parsed again; null when the fence is closed
 */
function repairFence(tokens: readonly Token[], text: string): string | null {
  const fence = tokens.at(-1);
  if (fence?.type !== 'fence' || !fence.map) return null;
  const [start, end] = fence.map;
  const lines = text.split('\n');
  const last = lines[end - 1]!.trim();
  const isClosed = end - 1 > start && last.startsWith(fence.markup) && last.replaceAll(fence.markup[0]!, '') === '';
  const gap = isClosed ? -1 : lines.findIndex((line, at) => at > start && line.trim() === '');
  if (gap === -1) return null;
  fence.content = lines.slice(start + 1, gap).join('\n');
  return lines.slice(gap + 1).join('\n');
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

/** Characters of a line that was probably broken for the width of a page; a shorter line ends on purpose. */
const WRAPPED = 50;
/** Tags of HTML. What else stands between angle brackets is text: a placeholder, a type. */
const TAG =
  /^<(?:!--|\/?(?:a|abbr|b|bdi|bdo|big|br|center|cite|code|del|details|dfn|div|em|font|i|img|input|ins|kbd|label|mark|p|picture|q|s|samp|small|source|span|strike|strong|sub|summary|sup|tt|u|var|video|wbr)\b)/i;
const FOOTNOTE = /\[\^\d{1,4}\]:?/g;

/** @returns the text of a line or paragraph as a person reads it, with marks around code */
function inlineText(tokens: readonly Token[] | null): string {
  let text = '';
  let lineStart = 0;
  for (const { type, content, children } of tokens ?? []) {
    if (type === 'softbreak') text += text.length - lineStart >= WRAPPED ? ' ' : '\n';
    else if (type === 'hardbreak') text += '\n';
    else if (type === 'code_inline') text += asCode(content);
    else if (type === 'image') text += inlineText(children);
    else if (type === 'html_inline') text += htmlText(content);
    else text += content.replace(FOOTNOTE, '');
    if (type === 'softbreak' || type === 'hardbreak') lineStart = text.length;
  }
  return text.replace(/(?<! ) *\n */g, '\n');
}

function htmlText(tag: string): string {
  if (/^<br\b/i.test(tag)) return '\n';
  return TAG.test(tag) ? '' : tag;
}
