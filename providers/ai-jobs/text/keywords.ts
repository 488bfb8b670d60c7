import { buildGraph } from '../../graph/build-graph.js';
import type { Analyse } from './analyses.js';
import { occurrences } from './occurrences.js';

/** Phrases say more than single words, and fewer of them come by chance. */
const WEIGHT_OF_WORDS = [0, 1, 1.6, 1.8, 1.9];

/**
 * The names and noun phrases of a text (as for the knowledge graph, which knows plurals and other forms of a name), by
 * how often they are said. Dates are no keywords.
 */
export const analyse: Analyse<'text/keyword_extraction'> = ({ text, max_keywords }) => {
  const { entities } = buildGraph([{ chunk_id: 'text', text }]);
  const rated = entities
    .filter(({ type }) => type !== 'date')
    .map(({ name, mentions }) => {
      const words = name.split(' ').length;
      // The graph keeps few sentences a name; where the name as such is written more often, that counts.
      const count = Math.max(mentions.length, occurrences(text, name, 'i').length);
      return { keyword: name, count, weight: count * (WEIGHT_OF_WORDS[words] ?? WEIGHT_OF_WORDS.at(-1)!) };
    })
    .sort((a, b) => b.weight - a.weight)
    .slice(0, max_keywords);
  const most = rated[0]?.weight ?? 1;
  return {
    keywords: rated.map(({ keyword, count, weight }) => ({
      keyword,
      count,
      importance: Math.round((weight / most) * 1_000) / 1_000,
    })),
  };
};
