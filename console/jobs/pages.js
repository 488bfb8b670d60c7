import { useState } from 'preact/hooks';
import { html } from '../html.js';
import { useLive } from '../live.js';
import { session } from '../session.js';
import { CopyButton } from '../ui.js';
import { canShow, PagePicture } from './page-picture.js';

/** @typedef {import('./page-picture.js').Box} Box */
/** @typedef {{ text: string, confidence: number, box: Box | null }} Piece */
/** @typedef {{ page: number, text: string, confidence: number, lines: Piece[] }} Page */
/** @typedef {{ page: number, box: Box, rows: { cells: Piece[] }[] }} FoundTable */

/** Below this, a person should compare the text with the picture. */
const DOUBTFUL = 0.75;

/** The file of a job, while it is stored and can be shown. @param {unknown} file */
function usePicture(file) {
  const id = typeof file === 'string' && file.startsWith('fil_') ? file : null;
  const { data } = useLive(
    async (signal) => {
      if (id === null) return { blob: null };
      const response = await fetch(`/v3/upload/${encodeURIComponent(id)}/content`, {
        headers: { Authorization: `Bearer ${session.key('api') ?? ''}` },
        signal,
        credentials: 'omit',
      }).catch(() => null);
      const blob = response?.ok ? await response.blob().catch(() => null) : null;
      return { blob: blob && canShow(blob) ? blob : null };
    },
    [id],
    0,
  );
  return data?.blob ?? null;
}

/** The text of each page beside its picture. @param {{ output: { pages: Page[] }, file: unknown }} props */
export function OcrPages({ output: { pages }, file }) {
  const blob = usePicture(file);
  const [at, setAt] = useState(0);
  const [chosen, setChosen] = useState(/** @type {number | undefined} */ (undefined));
  const page = pages[at];
  if (!page) return html`<p class="muted">The file has no pages.</p>`;
  const text = html`
    <div>
      <${Copied} text=${page.text}>${percent(page.confidence)} sure</${Copied}>
      ${page.text.trim() === '' && html`<p class="muted">No text was found on this page.</p>`}
      <div class="ocr-lines" tabindex="0" role="region" aria-label=${`Text of page ${page.page}`}>
        ${page.lines.map(
          (line, index) => html`
            <p class="${index === chosen ? 'chosen' : ''} ${line.confidence < DOUBTFUL ? 'doubtful' : ''}"
              title=${`${percent(line.confidence)} sure`}
              onMouseEnter=${() => setChosen(index)} onMouseLeave=${() => setChosen(undefined)}>${line.text}</p>
          `,
        )}
      </div>
    </div>
  `;
  return html`
    <${PageChoice} count=${pages.length} at=${at} onChange=${setAt} />
    <${Beside} blob=${blob} page=${page.page} boxes=${page.lines.map(({ box }) => box)} chosen=${chosen} onChoose=${setChosen}>${text}</${Beside}>
    ${page.lines.some(({ confidence }) => confidence < DOUBTFUL) && html`<p class="muted">Underlined lines are doubtful: compare them with the file.</p>`}
  `;
}

/** The tables of each page beside its picture. @param {{ output: { number_of_pages: number, tables: FoundTable[] }, file: unknown }} props */
export function OcrTables({ output: { tables }, file }) {
  const blob = usePicture(file);
  const [at, setAt] = useState(0);
  const pages = [...new Set(tables.map(({ page }) => page))];
  const page = pages[at];
  if (page === undefined) return html`<p class="muted">No table was found.</p>`;
  const shown = tables.filter((table) => table.page === page);
  return html`
    <${PageChoice} count=${pages.length} at=${at} onChange=${setAt} />
    <${Beside} blob=${blob} page=${page} boxes=${shown.map(({ box }) => box)} chosen=${undefined} onChoose=${() => undefined}>
      <div>${shown.map((table, index) => html`<${FoundTableView} table=${table} name=${`Table ${index + 1} of page ${page}`} />`)}</div>
    </${Beside}>
  `;
}

/** @param {{ table: FoundTable, name: string }} props */
function FoundTableView({ table: { rows }, name }) {
  const tabbed = rows.map(({ cells }) => cells.map(({ text }) => text).join('\t')).join('\n');
  const [head, ...body] = rows;
  return html`
    <${Copied} text=${tabbed}>${name}</${Copied}>
    <div class="table found-table" tabindex="0" role="region" aria-label=${name}>
      <table>
        <thead><tr>${head?.cells.map(({ text }) => (text ? html`<th scope="col">${text}</th>` : html`<td></td>`))}</tr></thead>
        <tbody>${body.map(({ cells }) => html`<tr>${cells.map(({ text }) => html`<td>${text}</td>`)}</tr>`)}</tbody>
      </table>
    </div>
  `;
}

/**
 * Something beside the picture of its page, where there is a picture.
 * @param {{ blob: Blob | null, page: number, boxes: Box[], chosen: number | undefined, onChoose: (index: number | undefined) => void, children?: import('../ui.js').Children }} props
 */
const Beside = ({ blob, page, boxes, chosen, onChoose, children }) =>
  blob
    ? html`
        <div class="halves beside">
          <${PagePicture} blob=${blob} page=${page} boxes=${boxes} chosen=${chosen} onChoose=${onChoose} />
          ${children}
        </div>
      `
    : children;

/** @param {{ text: string, children?: import('../ui.js').Children }} props */
const Copied = ({ text, children }) =>
  html`<div class="result-head"><span class="muted">${children}</span><${CopyButton} text=${text} /></div>`;

/** @param {{ count: number, at: number, onChange: (at: number) => void }} props */
const PageChoice = ({ count, at, onChange }) =>
  count > 1 &&
  html`
    <nav class="pages" aria-label="Pages of the file">
      <button type="button" disabled=${at === 0} onClick=${() => onChange(at - 1)}>Previous</button>
      <span role="status">${at + 1} of ${count}</span>
      <button type="button" disabled=${at === count - 1} onClick=${() => onChange(at + 1)}>Next</button>
    </nav>
  `;

/** @param {number} fraction */
const percent = (fraction) => `${Math.round(fraction * 100)} %`;
