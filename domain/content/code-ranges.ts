import type { TextRange } from '../text-ranges.js';

/** A part of a section: a block of code, or the text between two blocks. */
export interface Piece {
  text: string;
  /** Its first character in the section. */
  start: number;
  isCode?: boolean;
}

/** Divides a section at its blocks of code: the ranges that have empty lines, or the ends of the text, on both sides. */
export function* piecesOf(text: string, code: readonly TextRange[] = []): Generator<Piece> {
  let at = 0;
  for (const [start, end] of code) {
    if (!isBlock(text, start, end)) continue;
    if (start > at) yield { text: text.slice(at, start), start: at };
    yield { text: text.slice(start, end), start, isCode: true };
    at = end;
  }
  if (at < text.length || at === 0) yield { text: text.slice(at), start: at };
}

function isBlock(text: string, start: number, end: number): boolean {
  const opens = start === 0 || text.startsWith('\n\n', start - 2);
  return opens && (end === text.length || text.startsWith('\n\n', end));
}

/**
 * @param code ranges of a text, in order
 * @returns a function that gives the ranges within a part, counted from its start. Parts must be asked for in order
 */
export function codeCursor(code: readonly TextRange[] = []): (start: number, end: number) => TextRange[] | undefined {
  if (code.length === 0) return () => undefined;
  let next = 0;
  return (start, end) => {
    while (next < code.length && code[next]![1] <= start) next += 1;
    const found: TextRange[] = [];
    for (let at = next; at < code.length && code[at]![0] < end; at++) {
      const [from, to] = code[at]!;
      found.push([Math.max(from, start) - start, Math.min(to, end) - start]);
    }
    return found.length > 0 ? found : undefined;
  };
}
