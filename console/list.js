import { useState } from 'preact/hooks';
import { call, withQuery } from './api.js';
import { html } from './html.js';
import { useLive } from './live.js';
import { linkHere } from './router.js';
import { Empty, Loaded } from './ui.js';

/** @typedef {import('./ui.js').Children} Children */

/**
 * A list that is read in pages. A change of its query returns to the first page.
 * @param {string} path
 * @param {Parameters<typeof withQuery>[1]} query
 * @param {number | ((data: any) => number)} everyMs
 * @param {(address: string, signal: AbortSignal) => Promise<any>} [load]
 */
export function useList(path, query, everyMs, load = (address, signal) => call('GET', address, { signal })) {
  const identity = withQuery(path, query);
  const [visited, setVisited] = useState({ identity, cursors: /** @type {string[]} */ ([]) });
  const cursors = visited.identity === identity ? visited.cursors : [];
  const address = withQuery(path, { ...query, cursor: cursors.at(-1) });
  return {
    ...useLive((signal) => load(address, signal), [address], everyMs),
    isFirst: cursors.length === 0,
    /** @param {string} next */
    older: (next) => setVisited({ identity, cursors: [...cursors, next] }),
    newer: () => setVisited({ identity, cursors: cursors.slice(0, -1) }),
  };
}

/**
 * The page of a list: its problem, its records, or what to do where there are none.
 * @param {{ list: ReturnType<typeof useList>, rows: any[] | undefined, empty: Children, filtered?: string | false, all?: string } & Omit<Parameters<typeof Table<any>>[0], 'rows'>} props
 *   `filtered`: what is said where no record matches the filters; `all`: the address of the list without them
 */
export const List = ({ list, rows, empty, filtered, all, ...table }) => html`
  <${Loaded} of=${list} retry=${list.refresh} />
  ${
    rows &&
    html`
      ${
        // The records of a later page may be gone by now. The way back stays.
        rows.length > 0
          ? html`<${Table} ...${table} rows=${rows} />`
          : list.isFirst
            ? filtered
              ? html`<${Empty} title=${filtered}><a href=${all}>Show all ${table.label.toLowerCase()}</a></${Empty}>`
              : empty
            : html`<p class="muted">Nothing is left on this page.</p>`
      }
      <${Pages} list=${list} next=${list.data.next_cursor} />
    `
  }
`;

/** @param {{ list: ReturnType<typeof useList>, next: string | null | undefined }} props */
const Pages = ({ list, next }) =>
  list.isFirst && !next
    ? null
    : html`
        <nav class="pages" aria-label="Pages">
          <button type="button" disabled=${list.isFirst} onClick=${list.newer}>Newer</button>
          <button type="button" disabled=${!next} onClick=${() => next && list.older(next)}>Older</button>
        </nav>
      `;

/**
 * @template T
 * @typedef {object} Column
 * @property {string} title
 * @property {(row: T) => Children} cell
 * @property {string} [className] `wide` hides it on narrow screens, `number` aligns it right
 */

/**
 * A table of records. Where rows open, the first cell of each is a link to it; arrow keys move between rows.
 * @template {object} T
 * @param {object} props
 * @param {string} props.label
 * @param {Column<T>[]} props.columns
 * @param {T[]} props.rows
 * @param {keyof T} props.id the field with the id
 * @param {boolean} [props.opens]
 * @param {string | undefined} [props.open] the id of the row that is open
 * @param {(row: T) => Record<string, string | undefined>} [props.with] other parameters of the link to a row
 */
export function Table({ label, columns, rows, id, opens = true, open, with: others }) {
  return html`
    <div class="table" role="region" aria-label=${label} onKeyDown=${moveBetweenRows}>
      <table>
        <thead>
          <tr>${columns.map(({ title, className }) => html`<th class=${className} scope="col">${title}</th>`)}</tr>
        </thead>
        <tbody>
          ${rows.map((row) => {
            const key = String(row[id]);
            const cells = columns.map(({ cell, className }, index) => {
              const content =
                opens && index === 0
                  ? html`<a class="row-link" href=${linkHere({ ...others?.(row), id: key })}>${cell(row)}</a>`
                  : cell(row);
              return html`<td class=${className}>${content}</td>`;
            });
            return html`<tr key=${key} aria-selected=${key === open ? 'true' : undefined}>${cells}</tr>`;
          })}
        </tbody>
      </table>
    </div>
  `;
}

/** @param {KeyboardEvent} event */
function moveBetweenRows(event) {
  const step = { ArrowDown: 1, j: 1, ArrowUp: -1, k: -1 }[event.key];
  const links = [.../** @type {HTMLElement} */ (event.currentTarget).querySelectorAll('a.row-link')];
  const at = links.indexOf(/** @type {Element} */ (event.target));
  if (step === undefined || at < 0) return;
  event.preventDefault();
  /** @type {HTMLElement | undefined} */ (links[at + step])?.focus();
}
