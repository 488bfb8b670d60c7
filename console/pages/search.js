import { useEffect, useRef, useState } from 'preact/hooks';
import { call } from '../api.js';
import { NoDatabase, useDatabases } from '../databases.js';
import { plural } from '../format.js';
import { Graph, Relations } from '../graph.js';
import { html } from '../html.js';
import { useLive } from '../live.js';
import { Passage } from '../passage.js';
import { go, linkTo } from '../router.js';
import { Empty, Loaded, Loading, Page, Problem, Select } from '../ui.js';

/** @typedef {import('../api.js').Schemas} Schemas */

const MODES = /** @type {[string, string][]} */ ([
  ['hybrid', 'Text and meaning'],
  ['text', 'Text'],
  ['vector', 'Meaning'],
]);

const SHOWN = /** @type {[string, string][]} */ ([
  ['0', 'Hits'],
  ['1', 'Hits and their neighbours'],
]);

/** @param {{ parameters: Record<string, string> }} props */
export function Search({ parameters }) {
  const databases = useDatabases();
  const database = parameters.database ?? databases.data?.[0];
  return html`
    <${Page} title="Search">
      <${Loaded} of=${databases} retry=${databases.refresh} />
      ${
        databases.data &&
        (database
          ? html`<${Question} databases=${databases.data} database=${database} question=${parameters.q ?? ''} mode=${parameters.by ?? 'hybrid'} around=${parameters.around === '1'} />`
          : html`<${NoDatabase} />`)
      }
    </${Page}>
  `;
}

/** @param {{ databases: string[], database: string, question: string, mode: string, around: boolean }} props */
function Question({ databases, database, question, mode, around }) {
  const input = useRef(/** @type {HTMLInputElement | null} */ (null));
  useEffect(() => input.current?.focus(), []);
  // The address may get another question: a link, or the browser's way back.
  useEffect(() => {
    if (input.current) input.current.value = question;
  }, [question]);
  /** @param {Record<string, string>} changed */
  const ask = (changed) =>
    go('search', { database, by: mode, around: around ? '1' : '0', q: input.current?.value.trim() ?? '', ...changed });
  /** @param {Event} event */
  const onSubmit = (event) => {
    event.preventDefault();
    ask({});
  };
  return html`
    <form class="question" role="search" onSubmit=${onSubmit}>
      <label class="field grow"><span>Question</span>
        <input type="search" name="q" ref=${input} defaultValue=${question} required placeholder="How often does the lamp flash?" />
      </label>
      <${Select} label="Database" value=${database} options=${databases.map((name) => [name, name])} onChange=${(/** @type {string} */ value) => ask({ database: value })} />
      <${Select} label="By" value=${mode} options=${MODES} onChange=${(/** @type {string} */ value) => ask({ by: value })} />
      <${Select} label="Show" value=${around ? '1' : '0'} options=${SHOWN} onChange=${(/** @type {string} */ value) => ask({ around: value })} />
      <button type="submit" class="primary">Search</button>
    </form>
    ${question ? html`<${Results} database=${database} question=${question} mode=${mode} around=${around} />` : html`<${Empty} title="Ask your items something.">Hits show the passage and the entities around it. Press <kbd>/</kbd> anywhere to come here.</${Empty}>`}
  `;
}

/** @param {{ database: string, question: string, mode: string, around: boolean }} props */
function Results({ database, question, mode, around }) {
  const body = { database, query: question, query_by: mode, max_results: 10, expand: around ? 1 : 0 };
  const found = useLive((signal) => call('POST', '/query', { body, signal }), [body], 0);
  const [chosen, setChosen] = useState(/** @type {string | null} */ (null));
  const { data } = found;
  if (!data)
    return found.error ? html`<${Problem} error=${found.error} retry=${found.refresh} />` : html`<${Loading} />`;
  /** @type {Schemas['Hit'][]} */
  const hits = data.chunks;
  if (hits.length === 0)
    return html`<${Empty} title="Nothing found.">Use other words, search by meaning, or check that the <a href=${linkTo('items', { database })}>items</a> are completed.</${Empty}>`;
  /** @type {Schemas['Entity'] | undefined} */
  const entity = data.graph.entities.find((/** @type {Schemas['Entity']} */ { name }) => name === chosen);
  return html`
    ${data.warning && html`<div class="notice">${data.warning}</div>`}
    <div class="halves results">
      <section aria-label="Hits">
        <h2>${plural(hits.length, 'hit')}</h2>
        ${hits.map((hit) => html`<${Hit} key=${hit.chunk_id} hit=${hit} database=${database} isNamed=${names(entity, hit)} />`)}
      </section>
      ${
        data.graph.entities.length > 0 &&
        html`
          <section class="card graph-card" aria-label="Graph">
            <h2>Around them</h2>
            <${Graph} entities=${data.graph.entities} relations=${data.graph.relations} chosen=${chosen} onChoose=${setChosen} />
            <p class="muted">${entity ? html`<b>${entity.name}</b> (${entity.type}) is named in ${plural(entity.chunk_ids.length, 'hit')}.` : 'Choose an entity to see what it is related to. Drag it to move it.'}</p>
            <${Relations} relations=${data.graph.relations} chosen=${chosen} />
          </section>
        `
      }
    </div>
  `;
}

/** @param {Schemas['Entity'] | undefined} entity @param {Schemas['Hit']} hit */
const names = (entity, hit) =>
  entity !== undefined && (hit.chunk_ids ?? [hit.chunk_id]).some((id) => entity.chunk_ids.includes(id));

/** @param {{ hit: Schemas['Hit'], database: string, isNamed: boolean }} props */
function Hit({ hit, database, isNamed }) {
  const { page, slide, sheet, headings = [] } = hit.location;
  const where = [hit.collection, ...headings, page && `page ${page}`, slide && `slide ${slide}`, sheet]
    .filter(Boolean)
    .join(' › ');
  return html`
    <article class="card hit ${isNamed ? 'named' : ''}">
      <header>
        <h3><a href=${linkTo('items', { database, id: hit.source_id, collection: hit.collection })}>${hit.title ?? hit.source_id}</a></h3>
        <span class="score" title="How well it matches, compared with the other hits">
          <meter min="0" max="1" value=${hit.score} aria-label="Score"></meter>${hit.score.toFixed(2)}
        </span>
      </header>
      <small class="muted">${where}</small>
      <${Passage} hit=${hit} />
    </article>
  `;
}
