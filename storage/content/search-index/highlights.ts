import { DEFAULT_LANGUAGE, type TextLanguage } from '../../../domain/content/languages.js';
import { createPauses } from '../../../domain/event-loop.js';
import type { TextRange } from '../../../domain/text-ranges.js';
import { createTextAnalysis } from './analysis.js';
import { charactersOf, isRun, type ReadText, readText } from './words.js';

/** Characters between two pauses. */
const PAUSE_AFTER = 500;

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
      const read: ReadText[] = [];
      for (const { text } of texts) {
        read.push(await readText(text, pause));
        await pause();
      }
      const matching = new Map<TextLanguage, ReadonlySet<string>>();
      for (const language of languages) {
        const words = new Set<string>();
        for (const [at, { tokens }] of read.entries()) {
          if (languageOf(texts[at]!) === language) for (const token of tokens) words.add(token);
        }
        matching.set(language, await analysis.wordsWithTerm(words, language, asked));
      }
      const marked: TextRange[][] = [];
      for (const [at, text] of read.entries()) {
        marked.push(await rangesOf(text, matching.get(languageOf(texts[at]!))!, asked, pause));
      }
      return marked;
    },
  };
}

const languageOf = ({ language = DEFAULT_LANGUAGE }: MarkedText) => language;

async function rangesOf(
  { normal, tokens, placeOf }: ReadText,
  matching: ReadonlySet<string>,
  asked: ReadonlySet<string>,
  pause: () => Promise<void>,
): Promise<TextRange[]> {
  const ranges: TextRange[] = [];
  let end = 0;
  for (const token of tokens) {
    // Only what is in no token is skipped, so this finds the token itself.
    const start = normal.indexOf(token, end);
    end = start + token.length;
    if (matching.has(token)) ranges.push(placeOf(start, end));
    else if (isRun(token)) {
      ranges.push(...(await markRun(token, asked, pause, (from, to) => placeOf(start + from, start + to))));
    }
  }
  return ranges;
}

/** Marks the characters of a script without spaces that the query has alone, or next to each other. */
async function markRun(
  run: string,
  asked: ReadonlySet<string>,
  pause: () => Promise<void>,
  placeOf: ReadText['placeOf'],
): Promise<TextRange[]> {
  const characters = charactersOf(run);
  const isAsked = (at: number) => asked.has(characters[at]! + characters[at + 1]);
  const ranges: TextRange[] = [];
  let to = 0;
  for (const [at, character] of characters.entries()) {
    if (at % PAUSE_AFTER === 0) await pause();
    const from = to;
    to += character.length;
    if (!(asked.has(character) || isAsked(at) || isAsked(at - 1))) continue;
    const [start, end] = placeOf(from, to);
    const last = ranges.at(-1);
    if (last?.[1] === start) last[1] = end;
    else ranges.push([start, end]);
  }
  return ranges;
}
