import type { Token } from 'markdown-it';
import { asCode } from '../code-marks.js';

/** Characters of a line that was probably broken for the width of a page; a shorter line ends on purpose. */
const WRAPPED = 50;
/** Tags of HTML. What else stands between angle brackets is text: a placeholder, a type. */
const TAG =
  /^<(?:!--|\/?(?:a|abbr|b|bdi|bdo|big|br|center|cite|code|del|details|dfn|div|em|font|i|img|input|ins|kbd|label|mark|p|picture|q|s|samp|small|source|span|strike|strong|sub|summary|sup|tt|u|var|video|wbr)\b)/i;
const FOOTNOTE = /\[\^\d{1,4}\]:?/g;

/** @returns the text of a line or paragraph as a person reads it, with marks around code */
export function inlineText(tokens: readonly Token[] | null): string {
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
