import type { FullResult, ValidatedInput } from '../../../domain/ai-jobs/provider.js';
import { buildGraph } from '../../graph/build-graph.js';
import { occurrences } from './english.js';

/** Weight of a keyword by its number of words: phrases are more specific than single words. */
const WORD_COUNT_WEIGHTS = [0, 1, 1.6, 1.8, 1.9];

/**
 * Ranks the names and noun phrases of a text by frequency. They are found as for the knowledge graph, which joins plurals
 * and other forms of a name. Dates are not keywords.
 */
export function analyse({
  text,
  max_keywords,
}: ValidatedInput<'text/keyword_extraction'>): FullResult<'text/keyword_extraction'> {
  const { entities } = buildGraph([{ chunk_id: 'text', text }]);
  const ranked = entities
    .filter(({ type }) => type !== 'date')
    .map(({ name, mentions }) => {
      const words = name.split(' ').length;
      // The graph stores few sentences per name, so the occurrences of the name itself count if they are more.
      const count = Math.max(mentions.length, occurrences(text, name, 'i').length);
      return { keyword: name, count, weight: count * (WORD_COUNT_WEIGHTS[words] ?? WORD_COUNT_WEIGHTS.at(-1)!) };
    })
    .sort((a, b) => b.weight - a.weight)
    .slice(0, max_keywords);
  const highest = ranked[0]?.weight ?? 1;
  const keywords = ranked.map(({ keyword, count, weight }) => ({
    keyword,
    count,
    importance: Math.round((weight / highest) * 1_000) / 1_000,
  }));
  return { output: { keywords }, original: { entities: entities.map(({ name, type }) => ({ name, type })) } };
}
