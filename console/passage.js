import { html } from './html.js';

/** @typedef {Pick<import('./api.js').Schemas['Hit'], 'text' | 'code' | 'highlights' | 'hits'>} Hit */
/** @typedef {[start: number, end: number]} Range */
/** @typedef {{ start: number, end: number, isCode: boolean }} Block */

/**
 * The text of a hit: its paragraphs and code, with the words of the question marked. What stands around the hit is pale. All
 * of it is text.
 * @param {{ hit: Hit }} props
 */
export function Passage({ hit }) {
  const { text } = hit;
  const code = /** @type {Range[]} */ (hit.code ?? []);
  const marks = /** @type {Range[]} */ (hit.highlights);
  const found = /** @type {Range[]} */ (hit.hits ?? [[0, text.length]]);
  /** @param {Block} block */
  const inside = ({ start, end, isCode }) =>
    cut(start, end, [code, marks, found]).map(([from, to]) => {
      const piece = text.slice(from, to);
      const shown = covers(marks, from) ? html`<mark>${piece}</mark>` : piece;
      const own = !isCode && covers(code, from) ? html`<code>${shown}</code>` : shown;
      return covers(found, from) ? own : html`<span class="muted">${own}</span>`;
    });
  return html`<div class="passage" tabindex="0">${blocksOf(text, code).map((block) => (block.isCode ? html`<pre>${inside(block)}</pre>` : html`<p>${inside(block)}</p>`))}</div>`;
}

/**
 * The paragraphs of a text, and its lines of code.
 * @param {string} text
 * @param {Range[]} code
 * @returns {Block[]}
 */
function blocksOf(text, code) {
  /** @type {Block[]} */
  const blocks = [];
  let at = 0;
  /** @param {number} end */
  const addText = (end) => {
    for (const { 0: paragraph, index } of text.slice(at, end).matchAll(/\S.*(?:\n(?!\s*\n).*)*/g))
      blocks.push({ start: at + index, end: at + index + paragraph.length, isCode: false });
  };
  for (const [start, end] of code) {
    const isBlock = (start === 0 || text[start - 1] === '\n') && (end === text.length || text[end] === '\n');
    if (!isBlock) continue;
    addText(start);
    blocks.push({ start, end, isCode: true });
    at = end;
  }
  addText(text.length);
  return blocks;
}

/**
 * Cuts a part of a text wherever a range starts or ends.
 * @param {number} start
 * @param {number} end
 * @param {Range[][]} ranges
 * @returns {Range[]}
 */
function cut(start, end, ranges) {
  const inner = ranges.flat(2).filter((at) => at > start && at < end);
  const places = [...new Set([start, ...inner, end])].sort((a, b) => a - b);
  return places.slice(1).map((to, n) => [/** @type {number} */ (places[n]), to]);
}

/** @param {Range[]} ranges @param {number} at */
const covers = (ranges, at) => ranges.some(([start, end]) => start <= at && at < end);
