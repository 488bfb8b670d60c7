import { bodyOf, type Schemas } from '../../client/index.js';
import { fields, paint, print } from './output.js';
import { findServer, type ServerOptions } from './server.js';

interface QueryOptions extends ServerOptions {
  database: string;
  collection?: string;
  max?: number;
  by?: 'hybrid' | 'text' | 'vector';
  graph?: boolean;
  explain?: boolean;
}

/** Sentences that are shown of each hit. */
const SENTENCES = 3;

/** `postback query`: prints the hits, each with the sentences that fit the question best. */
export async function query(words: readonly string[], options: QueryOptions): Promise<void> {
  const { database, collection, max, by, graph, explain } = options;
  const question = words.join(' ');
  const body = {
    query: question,
    database,
    collection,
    max_results: max,
    query_by: by,
    graph_context: graph ?? false,
    explain,
  };
  const { data } = await bodyOf(findServer(options).client().POST('/query', { body }));
  print({ json: options.json, data }, () => {
    const hits = data.chunks.map((hit, place) => showHit(hit, place + 1, question));
    const relations = data.graph.relations.map(({ source, relation, target }) => {
      return `${source} ${paint('magenta', `—${relation}→`)} ${target}`;
    });
    const warning = data.warning ? [paint('yellow', data.warning)] : [];
    const found = hits.length > 0 ? hits : ['Nothing found.'];
    return [...warning, ...found, relations.join('\n')].filter(Boolean).join('\n\n');
  });
}

function showHit(hit: Schemas['Hit'], place: number, question: string): string {
  const { source_id, title, score, text, location, collection, explain } = hit;
  const where = Object.entries(location).filter(([name]) => name !== 'headings');
  const details = [collection, ...where.map(([name, value]) => `${name} ${value}`)].join(', ');
  const heading = `${place}. ${paint('bold', title ?? source_id)}  ${paint('cyan', score.toFixed(3))}  ${paint('dim', details)}`;
  const parts = explain ? [fields(explain).replace(/^/gm, '   ')] : [];
  return [heading, ...bestSentences(text, question).map((sentence) => `   ${sentence}`), ...parts].join('\n');
}

/** The sentences with most words of the question, in their order, with these words in bold. */
function bestSentences(text: string, question: string): string[] {
  const asked = new Set(wordsOf(question).map(stem));
  const sentences = [...new Intl.Segmenter(undefined, { granularity: 'sentence' }).segment(text.replace(/\s+/g, ' '))];
  const rated = sentences.map(({ segment }, index) => {
    return {
      segment,
      index,
      matches: new Set(
        wordsOf(segment)
          .map(stem)
          .filter((word) => asked.has(word)),
      ).size,
    };
  });
  const best = rated.sort((a, b) => b.matches - a.matches || a.index - b.index).slice(0, SENTENCES);
  return best.sort((a, b) => a.index - b.index).map(({ segment }) => highlight(segment.trim(), asked));
}

function highlight(sentence: string, asked: ReadonlySet<string>): string {
  const segments = new Intl.Segmenter(undefined, { granularity: 'word' }).segment(sentence);
  return Array.from(segments, ({ segment, isWordLike }) => {
    return isWordLike && asked.has(stem(segment)) ? paint(['bold', 'yellow'], segment) : segment;
  }).join('');
}

function wordsOf(text: string): string[] {
  const segments = new Intl.Segmenter(undefined, { granularity: 'word' }).segment(text);
  return Array.from(segments, ({ segment, isWordLike }) => (isWordLike ? segment : '')).filter(Boolean);
}

/** Rough, for highlighting only: the search itself knows more forms of a word. */
function stem(word: string): string {
  return word.toLowerCase().slice(0, Math.max(4, word.length - 3));
}
