import { DEFAULT_LANGUAGE, type TextLanguage } from '../../../domain/content/languages.js';
import { withPauses } from '../../../domain/event-loop.js';
import type { Change } from './changes.js';
import { createStemmer } from './stems.js';
import { charactersOf, indexedCharacters, isRun, nounsOf, searchedCharacters, tokensOf } from './words.js';

/** Characters of a query that are searched; more words do not improve the result. */
const MAX_QUERY_CHARACTERS = 4_000;
/** Terms of a query that are searched. */
const MAX_TERMS = 1_000;

export type TextAnalysis = ReturnType<typeof createTextAnalysis>;

/** A query in the terms of the index, separated by spaces. */
export interface AnalysedQuery {
  /** Each term that a chunk may have, for any of the words. */
  any: string;
  /** The terms that a chunk must have for all words, in each language where they differ. */
  all: string[];
  /** What the text of a chunk contains that has the words next to each other. */
  phrases: string[];
}

/**
 * Turns texts and queries into the terms of the full-text index, which LanceDB only divides at spaces. A text has the stems of
 * its language. A query is short and shows no language, so it is analysed in each language that the table has.
 */
export function createTextAnalysis() {
  const stemsOf = createStemmer();

  /** @returns the terms of each token; none for a stop word, several for a German compound */
  async function termsOf(
    tokens: readonly string[],
    language: TextLanguage,
    ofRun: (run: readonly string[]) => string[],
  ) {
    const words = new Set(tokens.filter((token) => !isRun(token)));
    const stems = await stemsOf(withNouns(words, language), language);
    return tokens.map((token) => {
      if (isRun(token)) return ofRun(charactersOf(token));
      return partsOf(token, language).flatMap((part) => stems.get(part) || []);
    });
  }

  async function analyse(rows: readonly { text: string; language?: TextLanguage | undefined }[]): Promise<string[]> {
    const analysed: string[] = [];
    for await (const { text, language = DEFAULT_LANGUAGE } of withPauses(rows)) {
      analysed.push(joined(await termsOf(tokensOf(text), language, indexedCharacters)));
    }
    return analysed;
  }

  /** @param languages of the table */
  async function analyseQuery(query: string, languages: readonly TextLanguage[]): Promise<AnalysedQuery> {
    const tokens = tokensOf(query.slice(0, MAX_QUERY_CHARACTERS));
    const searched = await Promise.all(languages.map((language) => termsOf(tokens, language, searchedCharacters)));
    const indexed = await Promise.all(languages.map((language) => termsOf(tokens, language, indexedCharacters)));
    const any = tokens.flatMap((_, at) => [...new Set(searched.flatMap((terms) => terms[at]!))]);
    return {
      any: any.slice(0, MAX_TERMS).join(' '),
      all: distinct(searched.map((terms) => terms.flat().slice(0, MAX_TERMS).join(' '))),
      phrases: distinct(indexed.map((terms) => joined(terms).trim())),
    };
  }

  return {
    /** @returns the text to index of each row, in slices, so that a long document does not hold up the process */
    analyse,

    /** Called when the change is committed: a short text must not overtake a long one that was written before. */
    async analyseChange({ rows, remove }: Change): Promise<Change> {
      const texts = await analyse(rows);
      return { rows: rows.map((row, at) => ({ ...row, text: texts[at]! })), remove };
    },

    analyseQuery,

    /** @returns the words that have one of the terms in the index */
    async wordsWithTerm(words: ReadonlySet<string>, language: TextLanguage, terms: ReadonlySet<string>) {
      const stems = await stemsOf(withNouns(words, language), language);
      const hasTerm = (part: string) => terms.has(stems.get(part)!);
      const found = new Set<string>();
      for (const word of words) {
        if (hasTerm(word) || (hasNouns(language) && nounsOf(word).some(hasTerm))) found.add(word);
      }
      return found;
    },
  };
}

const hasNouns = (language: TextLanguage) => language === 'de';
const partsOf = (word: string, language: TextLanguage) => (hasNouns(language) ? [word, ...nounsOf(word)] : [word]);

/** @returns the words, and in German the nouns that they are made of */
function withNouns(words: ReadonlySet<string>, language: TextLanguage): ReadonlySet<string> {
  return hasNouns(language) ? new Set([...words].flatMap((word) => partsOf(word, language))) : words;
}

/** A stop word leaves a second space, so that phrases with and without it differ. */
function joined(terms: readonly string[][]): string {
  return terms.map((own) => own.join(' ')).join(' ');
}

/** @returns whether an analysed text contains the terms of a phrase next to each other */
export function containsPhrase(text: string, { phrases }: AnalysedQuery): boolean {
  const padded = ` ${text} `;
  return phrases.some((phrase) => padded.includes(` ${phrase} `));
}

function distinct(texts: readonly string[]): string[] {
  return [...new Set(texts)].filter((text) => text !== '');
}
