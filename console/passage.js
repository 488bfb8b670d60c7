import { highlight } from './highlight.js';
import { html } from './html.js';

/**
 * A part of a passage: a paragraph, a heading, code, or the rows of a table.
 *
 * @typedef {{ kind: 'text' | 'heading' | 'code', text: string } | { kind: 'table', rows: string[][] }} Block
 */

const FENCE = /^\s*(```|~~~)/;
const HEADING = /^#{1,6}\s+(.*?)\s*#*$/;
const ROW = /^\s*\|(.*)\|\s*$/;
/** The line between a table's head and its rows. */
const DELIMITER = /^[\s|:-]+$/;
/** Code, bold text and links within a line. */
const INLINE = /`([^`\n]+)`|\*\*([^*\n]+)\*\*|!?\[([^\]\n]*)\]\([^()\n]*\)/g;

/**
 * A passage as a person reads it. Of Markdown, only the marks that disturb are interpreted; all of a tenant's text stays text.
 * @param {{ text: string, question: string }} props
 */
export function Passage({ text, question }) {
  /** @param {string} part */
  const marked = (part) =>
    highlight(part, question).map((piece) => (piece.marked ? html`<mark>${piece.text}</mark>` : piece.text));
  /** @param {string} part */
  const inline = (part) =>
    piecesOf(part).map(({ kind, text: piece }) => {
      if (kind === 'code') return html`<code>${marked(piece)}</code>`;
      return kind === 'bold' ? html`<b>${marked(piece)}</b>` : marked(piece);
    });
  return html`<div class="passage">${blocksOf(text).map((block) => {
    if (block.kind === 'table')
      return html`<table><tbody>${block.rows.map((row) => html`<tr>${row.map((cell) => html`<td>${inline(cell)}</td>`)}</tr>`)}</tbody></table>`;
    if (block.kind === 'code') return html`<pre>${marked(block.text)}</pre>`;
    return block.kind === 'heading'
      ? html`<p><b>${inline(block.text)}</b></p>`
      : html`<p>${inline(unwrap(block.text))}</p>`;
  })}</div>`;
}

/** @param {string} text @returns {Block[]} */
export function blocksOf(text) {
  /** @type {Block[]} */
  const blocks = [];
  let isCode = false;
  for (const line of text.split('\n')) {
    if (FENCE.test(line)) {
      isCode = !isCode;
      continue;
    }
    const heading = isCode ? undefined : HEADING.exec(line)?.[1];
    const row = isCode ? undefined : ROW.exec(line)?.[1];
    if (heading !== undefined) blocks.push({ kind: 'heading', text: heading });
    else if (row !== undefined) addRow(blocks, row);
    else addLine(blocks, isCode ? 'code' : 'text', line);
  }
  return blocks.filter((block) => block.kind === 'table' || block.text.trim() !== '');
}

/** @param {Block[]} blocks @param {string} row */
function addRow(blocks, row) {
  let last = blocks.at(-1);
  if (last?.kind !== 'table') {
    last = { kind: 'table', rows: [] };
    blocks.push(last);
  }
  if (!DELIMITER.test(row)) last.rows.push(row.split(/(?<!\\)\|/).map((cell) => cell.replaceAll('\\|', '|').trim()));
}

/** @param {Block[]} blocks @param {'code' | 'text'} kind @param {string} line */
function addLine(blocks, kind, line) {
  const shown = kind === 'text' ? line.replace(/^(\s*)[*+-]\s+/, '$1• ') : line;
  const last = blocks.at(-1);
  if (last?.kind === kind) last.text += `\n${shown}`;
  else blocks.push({ kind, text: shown });
}

/** @param {string} text @returns {{ kind: 'text' | 'code' | 'bold', text: string }[]} */
function piecesOf(text) {
  /** @type {{ kind: 'text' | 'code' | 'bold', text: string }[]} */
  const pieces = [];
  let end = 0;
  for (const match of text.matchAll(INLINE)) {
    const [whole, code, bold, link] = match;
    pieces.push({ kind: 'text', text: text.slice(end, match.index) });
    pieces.push({
      kind: code !== undefined ? 'code' : bold !== undefined ? 'bold' : 'text',
      text: code ?? bold ?? link ?? '',
    });
    end = match.index + whole.length;
  }
  pieces.push({ kind: 'text', text: text.slice(end) });
  return pieces.filter((piece) => piece.text !== '');
}

/** Joins lines that were broken for the width of a page. @param {string} text */
const unwrap = (text) => text.replace(/([\p{L},;])[ \t]*\n(?=[\p{Ll}\d])/gu, '$1 ');
