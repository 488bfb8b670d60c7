import type { TextRange } from '../../domain/text-ranges.js';

/** Stand around code while a text is put together from pieces. `cleanText` removes these characters from every file. */
const START = '\u0001';
const END = '\u0002';

/** @returns the text with marks that `readMarks` turns into a range */
export function asCode(text: string): string {
  return text.trim() === '' ? text : START + text + END;
}

/** @returns the text without marks, and the ranges that were between them */
export function readMarks(marked: string): { text: string; code?: TextRange[] } {
  if (!marked.includes(START)) return { text: marked.replaceAll(END, '') };
  const code: TextRange[] = [];
  let text = '';
  let depth = 0;
  let start = 0;
  for (const [piece, mark] of marked.matchAll(/[^\u0001\u0002]+|([\u0001\u0002])/g)) {
    if (mark === START) {
      if (depth === 0) start = text.length;
      depth += 1;
    } else if (mark === END) {
      if (depth === 1 && text.length > start) code.push([start, text.length]);
      depth = Math.max(0, depth - 1);
    } else text += piece;
  }
  if (depth > 0 && text.length > start) code.push([start, text.length]);
  return code.length > 0 ? { text, code } : { text };
}

export const withoutMarks = (marked: string): string => readMarks(marked).text;
