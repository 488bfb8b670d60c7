import { joinChunks } from 'domain/content/joined-chunks.js';
import { useEffect, useState } from 'preact/hooks';
import { call, withQuery } from '../api.js';
import { plural } from '../format.js';
import { Graph, Relations } from '../graph.js';
import { html } from '../html.js';
import { useLive } from '../live.js';
import { Passage } from '../passage.js';
import * as ui from '../ui.js';

/** @typedef {import('../api.js').Schemas} Schemas */

const VIEWS = /** @type {const} */ (['Text', 'Chunks', 'Graph']);
const PAGE = 100;

/** What was read from an item: its text, its chunks, and its part of the graph. @param {{ item: Schemas['ItemDetail'] }} props */
export function Content({ item }) {
  const [view, setView] = useState(/** @type {typeof VIEWS[number]} */ ('Text'));
  return html`
    <div class="content-head">
      <h3>Content</h3>
      <${ui.Segmented} label="Content" value=${view} options=${VIEWS.map((name) => [name, name])} onChange=${setView} />
    </div>
    ${view === 'Graph' ? html`<${ItemGraph} item=${item} />` : html`<${Chunks} item=${item} joined=${view === 'Text'} />`}
  `;
}

/** @param {{ item: Schemas['ItemDetail'], joined: boolean }} props */
function Chunks({ item, joined }) {
  const { chunks, next, error, more } = useChunks(item);
  if (chunks.length === 0)
    return error ? html`<${ui.Problem} error=${error} retry=${more} />` : html`<${ui.Loading} lines=${3} />`;
  return html`
    ${joined ? html`<${Joined} chunks=${chunks} />` : chunks.map((chunk, index) => html`<${Chunk} key=${chunk.chunk_id} chunk=${chunk} number=${index + 1} />`)}
    <${ui.Problem} error=${error} />
    ${
      next &&
      html`
        <p class="muted">The first ${plural(chunks.length, 'chunk')}.</p>
        <${ui.ActionButton} run=${more}>Show more</${ui.ActionButton}>
      `
    }
  `;
}

/** Reads the chunks, a page at a time. @param {Schemas['ItemDetail']} item */
function useChunks({ id, database, collection }) {
  const [state, setState] = useState({
    chunks: /** @type {Schemas['ItemChunk'][]} */ ([]),
    next: /** @type {string | null} */ (null),
    error: /** @type {Error | undefined} */ (undefined),
  });
  /** @param {AbortSignal} [signal] */
  const more = async (signal) => {
    const query = { database, collection, limit: PAGE, cursor: state.next };
    try {
      const page = await call('GET', withQuery(`/context/${encodeURIComponent(id)}`, query), { signal });
      setState({ chunks: [...state.chunks, ...page.chunks], next: page.next_cursor, error: undefined });
    } catch (error) {
      if (!signal?.aborted) setState({ ...state, error: /** @type {Error} */ (error) });
    }
  };
  useEffect(() => {
    const ended = new AbortController();
    void more(ended.signal);
    return () => ended.abort();
  }, []);
  return { ...state, more: () => more() };
}

/** The chunks as one text, without what they repeat of each other. @param {{ chunks: Schemas['ItemChunk'][] }} props */
function Joined({ chunks }) {
  // The text begins with the heading of its first chunk.
  const start = { _id: '', text: '', headings: [] };
  const parts = chunks.map(({ chunk_id, ...chunk }) => ({ _id: chunk_id, ...chunk }));
  const { text, code } = joinChunks([start, .../** @type {any[]} */ (parts)], () => false);
  return html`<div class="whole-text"><${Passage} hit=${{ text, code, highlights: [] }} /></div>`;
}

/** @param {{ chunk: Schemas['ItemChunk'], number: number }} props */
const Chunk = ({ chunk, number }) => html`
  <div class="chunk">
    <small>${[...chunk.headings, chunk.page && `page ${chunk.page}`, chunk.slide && `slide ${chunk.slide}`, chunk.sheet].filter(Boolean).join(' › ')}</small>
    <${ui.Block} label=${`Chunk ${number}`}>${chunk.text}</${ui.Block}>
  </div>
`;

/** @param {{ item: Schemas['ItemDetail'] }} props */
function ItemGraph({ item: { id, database, collection } }) {
  const [chosen, setChosen] = useState(/** @type {string | null} */ (null));
  const query = { database, collection, id, limit: PAGE };
  const { data, error, refresh } = useLive(
    async (signal) => {
      const [{ entities, next_cursor }, { relations }] = await Promise.all([
        call('GET', withQuery('/context/entities', query), { signal }),
        call('GET', withQuery('/context/relations', query), { signal }),
      ]);
      return { entities: nodesOf(entities), relations: /** @type {Schemas['Relation'][]} */ (relations), next_cursor };
    },
    [query],
    0,
  );
  if (!data)
    return error ? html`<${ui.Problem} error=${error} retry=${refresh} />` : html`<${ui.Loading} lines=${3} />`;
  if (data.entities.length === 0) return html`<p class="muted">No person, place or other name was found in it.</p>`;
  const entity = data.entities.find(({ name }) => name === chosen);
  return html`
    <${Graph} entities=${data.entities} relations=${data.relations} chosen=${chosen} onChoose=${setChosen} />
    <p class="muted">
      ${entity ? html`<b>${entity.name}</b> (${entity.type}) is named in ${plural(entity.chunk_ids.length, 'chunk')}.` : `${data.next_cursor ? `The first ${PAGE} entities. ` : ''}Choose one to see what it is related to. Drag it to move it.`}
    </p>
    <${Relations} relations=${data.relations} chosen=${chosen} />
  `;
}

/** @param {Schemas['ItemEntity'][]} entities @returns {Schemas['Entity'][]} */
const nodesOf = (entities) =>
  entities.map(({ name, type, source_id, mentions }) => {
    return { name, type, source_ids: [source_id], chunk_ids: [...new Set(mentions.map(({ chunk_id }) => chunk_id))] };
  });
