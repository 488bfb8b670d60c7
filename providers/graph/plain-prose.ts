/** The prose of a text: without code, marks of Markdown and addresses. */

import type { TextRange } from '../../domain/text-ranges.js';
import { usualTag } from './vocabulary.js';

/** Stands for a piece of code in a sentence, so that the sentence keeps its grammar and the code makes no entity. */
export const CODE_WORD = 'xcodespanx';

/** A paragraph, heading, list item or row, and the pieces of code that it names. */
export interface ProseBlock {
  text: string;
  code: string[];
}

/** Tokens that are not words: addresses, base64, minified code. The tagger takes quadratic time for them. */
const LONG_TOKEN = /\S{60,}/g;
/** Soft hyphens, and spaces and joiners without width. */
const INVISIBLE = /\u00ad|[\u200b-\u200d\u2060\ufeff]/gu;
const FENCE = /^\s{0,3}(```|~~~)/;
const HEADING = /^\s{0,3}#{1,6}\s+/;
const LIST_ITEM = /^\s*([-*+•]|\d{1,3}[.)])\s+/;
const ROW = /^[^:;]{1,60}: /;
/** Cells between bars, tabs or commas without a space. */
const CELLS = /\S *[|\t].*\S|^[^,]*,[^\s,][^,]*(,[^\s,][^,]*)+$/;
/** The share of the width that a line of wrapped text has at least: letters are not equally wide. */
const RAGGED = 0.75;
/** Characters of the longest line of an address or a signature. Text is not wrapped as narrowly. */
const NARROW = 40;
/** Code of Markdown, constants (`MAX_SIZE`), names of variables, calls and files. */
const CODE =
  /\u0001[^\u0001\u0002\n]*\u0002|`[^`\n]{1,59}`|xcodespanx|\b[a-zA-Z\d]+(?:_+[a-zA-Z\d]+)+\b|\b[a-zA-Z]\w*\(\)|\b[a-z]\w+\.[a-z]\w+\b(?:\(\))?/g;

/**
 * Splits a text where a sentence cannot go on: at empty lines, headings, list items and rows. Wrapped lines are joined.
 * @param known parts of the text that are code
 */
export function readBlocks(text: string, known: readonly TextRange[] = []): ProseBlock[] {
  const blocks: string[][] = [[]];
  let fence: string | undefined;
  for (const line of inOneForm(markCode(text, known)).replace(LONG_TOKEN, ' ').split('\n')) {
    const mark = FENCE.exec(line)?.[1];
    if (mark && (fence === undefined || fence === mark)) {
      fence = fence === undefined ? mark : undefined;
      blocks.push([]);
    } else if (fence !== undefined) continue;
    else if (line.trim() === '' || isCode(line)) blocks.push([]);
    else if (HEADING.test(line)) blocks.push([line.replace(HEADING, '')], []);
    else if (LIST_ITEM.test(line)) blocks.push([line.replace(LIST_ITEM, '')]);
    else blocks.at(-1)!.push(line);
  }
  return blocks.flatMap(joinLines).flatMap(withoutMarks);
}

/** Joins the lines that were wrapped. A line that had room for the next word ends on purpose: an address, a row, a signature. */
function joinLines(lines: string[]): string[] {
  if (isTable(lines)) return lines;
  const width = lines.reduce((widest, line) => Math.max(widest, line.trim().length), 0);
  const isAddress = width < NARROW && !isSentence(lines) && lines.every((line) => /^\s*\P{Ll}/u.test(line));
  const least = isAddress ? Number.POSITIVE_INFINITY : width * RAGGED;
  const parts: string[] = [];
  lines.forEach((line, at) => {
    const before = lines[at - 1]?.trim() ?? '';
    const word = /^\s*(\p{Lu}\S*)/u.exec(line)?.[1];
    const hasRoom = at > 0 && word !== undefined && before.length + 1 + word.length < least;
    const isBroken = hasRoom && (isAddress || !goesOn(before));
    if (at === 0 || isBroken) parts.push(line);
    else parts[parts.length - 1] += ` ${line}`;
  });
  return parts;
}

/** An address may end in "Inc.", but has no line of five words then. */
function isSentence(lines: readonly string[]): boolean {
  const hasEnd = /[.!?]["'”’)\]]*$/.test(lines.at(-1)?.trim() ?? '');
  return hasEnd && lines.some((line) => line.trim().split(/\s+/).length >= 5);
}

/** "designed by", "in the": no line ends there on purpose. */
function goesOn(line: string): boolean {
  const last = / (\p{Ll}+)$/u.exec(line)?.[1];
  return last !== undefined && /^(ADP|DET|CCONJ|SCONJ|AUX)$/.test(usualTag(last));
}

/** One spelling for each name: letters with their accents, and nothing invisible inside a word. */
const inOneForm = (text: string) => text.normalize('NFC').replace(INVISIBLE, '');

/** Leaves out the blocks of code, and puts marks around code within a line. */
function markCode(text: string, code: readonly TextRange[]): string {
  let marked = '';
  let at = 0;
  for (const [start, end] of code) {
    const isLine = (text[start - 1] ?? '\n') === '\n' && (text[end] ?? '\n') === '\n';
    const isBlock = isLine || text.slice(start, end).includes('\n');
    marked += text.slice(at, start) + (isBlock ? '\n\n' : `\u0001${text.slice(start, end)}\u0002`);
    at = end;
  }
  return marked + text.slice(at);
}

/** Lines like "Name: value" or "name | value" are rows of a table. */
const isTable = (lines: string[]) =>
  [ROW, CELLS].some((row) => lines.filter((line) => row.test(line.trim())).length > lines.length / 2);

/** A line of a program: it ends like a statement, or has more signs than prose has. */
function isCode(line: string): boolean {
  const code = line.trim();
  const signs = code.match(/[{}()[\]<>=;_$\\]/g)?.length ?? 0;
  return (signs >= 2 && /[;{}]$/.test(code)) || (signs >= 3 && signs / code.length > 0.08);
}

function withoutMarks(text: string): ProseBlock[] {
  if (!/\p{L}/u.test(text)) return [];
  const code: string[] = [];
  const prose = text
    .replace(/!?\[([^\][\n]{0,200})\]\([^()\s]{1,200}\)/g, '$1')
    .replace(/(\*\*|__)(?=\S)/g, '')
    .replace(/(?<=\S)(\*\*|__)/g, '')
    .replace(CODE, (piece) => {
      code.push(piece.startsWith('\u0001') ? piece.slice(1, -1) : piece);
      return CODE_WORD;
    });
  return [{ text: prose, code }];
}
