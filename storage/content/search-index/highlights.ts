import { DEFAULT_LANGUAGE, type TextLanguage } from '../../../domain/content/languages.js';
import { createPauses } from '../../../domain/event-loop.js';
import type { TextRange } from '../../../domain/text-ranges.js';
import { createTextAnalysis } from './analysis.js';
import { type PlacedToken, placedTokensOf } from './words.js';

interface MarkedText {
  text: string;
  /** English when absent. */
  language?: TextLanguage | undefined;
}

/** Finds the words of a query in texts, by the analysis of the index: their stems, without case and accents. */
export function createHighlighter() {
  const analysis = createTextAnalysis();
  return {
    /** @returns for each text, the ranges of the words that match a word of the query */
    async mark(query: string, texts: readonly MarkedText[]): Promise<TextRange[][]> {
      const languages = [...new Set(texts.map(languageOf))];
      const { any } = await analysis.analyseQuery(query, languages);
      const asked = new Set(any.split(' '));
      asked.delete('');
      if (asked.size === 0) return texts.map(() => []);
      const pause = createPauses();
      const placed: PlacedToken[][] = [];
      for (const { text } of texts) placed.push(await placedTokensOf(text, pause));
      const matching = new Map<TextLanguage, ReadonlySet<string>>();
      for (const language of languages) {
        const words = new Set(
          placed.flatMap((tokens, at) => (languageOf(texts[at]!) === language ? wordsOf(tokens) : [])),
        );
        matching.set(language, await matchingWords([...words], language, asked));
      }
      return placed.map((tokens, at) => rangesOf(tokens, matching.get(languageOf(texts[at]!))!, asked));
    },
  };

  async function matchingWords(words: readonly string[], language: TextLanguage, asked: ReadonlySet<string>) {
    const terms = await analysis.termsOfWords(words, language);
    return new Set(words.filter((_, at) => terms[at]!.some((term) => asked.has(term))));
  }
}

const languageOf = ({ language = DEFAULT_LANGUAGE }: MarkedText) => language;
const wordsOf = (tokens: readonly PlacedToken[]) =>
  tokens.flatMap(({ token }) => (typeof token === 'string' ? [token] : []));

function rangesOf(tokens: readonly PlacedToken[], words: ReadonlySet<string>, asked: ReadonlySet<string>): TextRange[] {
  return tokens.flatMap(({ token, places }): TextRange[] => {
    if (typeof token !== 'string') return markRun(token, places, asked);
    return words.has(token) ? places : [];
  });
}

/** Marks the characters of a script without spaces that the query has alone, or next to each other. */
function markRun(run: readonly string[], places: PlacedToken['places'], asked: ReadonlySet<string>): TextRange[] {
  const marked = new Set<number>();
  for (const [at, character] of run.entries()) {
    if (asked.has(character)) marked.add(at);
    if (asked.has(character + run[at + 1])) marked.add(at).add(at + 1);
  }
  const ranges: TextRange[] = [];
  for (const [at, [start, end]] of places.entries()) {
    if (!marked.has(at)) continue;
    const last = ranges.at(-1);
    if (last?.[1] === start) last[1] = end;
    else ranges.push([start, end]);
  }
  return ranges;
}
