import { bodyOf, type Schemas } from '../../client/index.js';
import { inside } from './items.js';
import { fields, paint, print } from './output.js';
import { findServer, type ServerOptions } from './server.js';

interface QueryOptions extends ServerOptions {
  database: string;
  collection?: string;
  max?: number;
  by?: 'hybrid' | 'text' | 'vector';
  graph?: boolean;
  explain?: boolean;
  expand?: number;
  maxTokens?: number;
}

/** Sentences that are shown of each hit. */
const SENTENCES = 3;

/** `postback query`: prints the hits, each with the sentences that fit the question best. */
export async function query(words: readonly string[], options: QueryOptions): Promise<void> {
  const { database, collection, max, by, graph, explain, expand, maxTokens } = options;
  const body = {
    query: words.join(' '),
    database,
    collection,
    max_results: max,
    query_by: by,
    graph_context: graph ?? false,
    explain,
    expand,
    max_tokens: maxTokens,
  };
  const { data } = await bodyOf(findServer(options).client().POST('/query', { body }));
  const first = data.chunks[0];
  const next = first
    ? ['items', 'show', first.source_id, ...inside(database, first.collection)]
    : ['items', 'list', ...inside(database, collection)];
  print({ ...options, next }, data, () => {
    const hits = data.chunks.map((hit, place) => showHit(hit, place + 1));
    const relations = data.graph.relations.map(({ source, relation, target }) => {
      return `${source} ${paint('magenta', `—${relation}→`)} ${target}`;
    });
    const warning = data.warning ? [paint('yellow', data.warning)] : [];
    const found = hits.length > 0 ? hits : ['Nothing found.'];
    return [...warning, ...found, relations.join('\n')].filter(Boolean).join('\n\n');
  });
}

function showHit(hit: Schemas['Hit'], place: number): string {
  const { source_id, title, score, location, collection, explain } = hit;
  const where = Object.entries(location).filter(([name]) => name !== 'headings');
  const details = [collection, ...where.map(([name, value]) => `${name} ${value}`)].join(', ');
  const heading = `${place}. ${paint('bold', title ?? source_id)}  ${paint('cyan', score.toFixed(3))}  ${paint('dim', details)}`;
  const parts = explain ? [fields(explain).replace(/^/gm, '   ')] : [];
  return [heading, ...bestSentences(hit).map((sentence) => `   ${sentence}`), ...parts].join('\n');
}

/** The sentences with most of the words that match, in their order, with these words in bold. */
function bestSentences({ text, highlights }: Schemas['Hit']): string[] {
  const sentences = [...new Intl.Segmenter(undefined, { granularity: 'sentence' }).segment(text)];
  const rated = sentences.map(({ segment, index }) => {
    const marks = highlights.flatMap(([start, end]) =>
      start! >= index && end! <= index + segment.length ? [[start! - index, end! - index] as const] : [],
    );
    const words = new Set(marks.map(([start, end]) => segment.slice(start, end).toLowerCase()));
    return { segment, index, marks, matches: words.size };
  });
  const best = rated
    .filter(({ segment }) => segment.trim() !== '')
    .sort((a, b) => b.matches - a.matches || a.index - b.index)
    .slice(0, SENTENCES);
  return best.sort((a, b) => a.index - b.index).map(({ segment, marks }) => highlight(segment, marks));
}

function highlight(sentence: string, marks: readonly (readonly [number, number])[]): string {
  let shown = '';
  let at = 0;
  for (const [start, end] of marks) {
    shown += sentence.slice(at, start) + paint(['bold', 'yellow'], sentence.slice(start, end));
    at = end;
  }
  return (shown + sentence.slice(at)).replace(/\s+/g, ' ').trim();
}
