import type { TextRange } from '../../domain/text-ranges.js';
import { CODE_WORD, type ProseBlock, readBlocks } from './plain-prose.js';
import { PARTICLE } from './proper-names.js';
import { repairTags } from './repair-tags.js';
import { type Sentence, type Token, tag } from './tagger.js';
import { usualTag } from './vocabulary.js';

/** A word with a capital letter inside a sentence. */
const NAME_INSIDE = /(?<=[\p{Ll},] )\p{Lu}\p{L}+/gu;

/** Longer sentences are minified code, base64, or tables without line ends. */
const MAX_TOKENS = 120;

/**
 * Splits text into sentences of tagged tokens, without its code.
 * @param code the parts of the text that are known to be code
 */
export function readSentences(text: string, code?: readonly TextRange[]): Sentence[] {
  const names = new Set(text.normalize('NFC').match(NAME_INSIDE));
  return readBlocks(text, code).flatMap((block) => sentencesOf(block, names));
}

function sentencesOf({ text, code }: ProseBlock, names: ReadonlySet<string>): Sentence[] {
  let next = 0;
  const sentences = tag(text).flatMap(splitAtLegalForm);
  const isForeign = isOtherLanguage(sentences);
  return sentences.flatMap((tagged) => {
    const original = tagged.text.replaceAll(CODE_WORD, () => code[next++] ?? '');
    if (tagged.tokens.length > MAX_TOKENS) return [];
    const sentence = joinHyphens(tagged);
    const tokens = repairTags(sentence.tokens, names);
    const known = sentence.dates
      .filter((range) => !namesEvent(tokens, ...range))
      .map(([from, to]) => withYear(tokens, ...withoutPreposition(tokens, from, to)));
    return [{ text: original, tokens, dates: [...known, ...years(tokens, known)], isForeign }];
  });
}

/**
 * Of an English text, the model knows nearly all words in small letters; of German or Spanish, about half. A list of medicines, programs
 * or ingredients shows nothing.
 */
function isOtherLanguage(sentences: readonly Sentence[]): boolean {
  const words = sentences.flatMap(({ tokens }) =>
    tokens.filter(
      ({ text }, at) =>
        /^\p{Ll}{2,59}$/u.test(text) && text !== CODE_WORD && !PARTICLE.test(text) && !isListed(tokens, at),
    ),
  );
  if (words.length <= 3 || words.filter(({ text }) => usualTag(text) === '').length < 0.4 * words.length) return false;
  const english = sentences.flatMap(({ tokens }) => tokens.filter((_, at) => isEnglishOnly(tokens, at)));
  return english.length < 0.04 * words.length;
}

const isListed = (tokens: readonly Token[], at: number) =>
  [at - 1, at + 1].some((beside) => /^([,;]|and|or)$/.test(tokens[beside]?.text ?? ''));

/** Words that no other language has. "The Lord of the Rings" may be in a German text, so the next word has no capital letter. */
const isEnglishOnly = (tokens: readonly Token[], at: number) =>
  /^(the|and|with|from|that)$/.test(tokens[at]!.text) && /^\p{Ll}/u.test(tokens[at + 1]?.text ?? '');

/** "bought Acme Corp. Anna Berg left": to the library, the full stop belongs to the short form and ends no sentence. */
function splitAtLegalForm({ text, tokens, dates }: Sentence): Sentence[] {
  let end = 0;
  if (tokens.length > MAX_TOKENS) return [{ text, tokens, dates }];
  for (const [at, token] of tokens.entries()) {
    end = text.indexOf(token.text, end) + token.text.length;
    const isEnd = /^(corp|inc|ltd|co|llc)\.$/i.test(token.text) && /^\p{Lu}/u.test(tokens[at + 1]?.text ?? '');
    if (!isEnd || !tokens.slice(0, at).some(isVerb) || !tokens.slice(at + 1).some(isVerb)) continue;
    const rest = {
      text: text.slice(end).trimStart(),
      tokens: tokens.slice(at + 1),
      dates: dates.filter(([from]) => from > at).map(([from, to]): [number, number] => [from - at - 1, to - at - 1]),
    };
    const first = {
      text: text.slice(0, end),
      tokens: tokens.slice(0, at + 1),
      dates: dates.filter(([, to]) => to <= at),
    };
    return [first, ...splitAtLegalForm(rest)];
  }
  return [{ text, tokens, dates }];
}

const isVerb = ({ pos }: Token) => /^(VERB|AUX)$/.test(pos);

/** "the 1889 World's Fair": the year belongs to the name. */
const namesEvent = (tokens: readonly Token[], from: number, to: number): boolean =>
  from === to && tokens[from - 1]?.pos === 'DET' && /^(NOUN|PROPN)$/.test(tokens[to + 1]?.pos ?? '');

/** The library takes "by March 2025" for a date. */
const withoutPreposition = (tokens: readonly Token[], from: number, to: number): [number, number] =>
  from < to && /^(ADP|SCONJ)$/.test(tokens[from]!.pos) ? [from + 1, to] : [from, to];

/** The library leaves out the year of "14 October 1066". */
const withYear = (tokens: readonly Token[], from: number, to: number): [number, number] =>
  /^\p{L}/u.test(tokens[to]!.text) && /^\d{3,4}$/.test(tokens[to + 1]?.text ?? '') ? [from, to + 1] : [from, to];

/** The library does not take "since 1967" and "for 2025" for dates. */
function years(tokens: readonly Token[], dates: readonly [number, number][]): [number, number][] {
  return tokens.flatMap(({ text }, at): [number, number][] => {
    const isKnown = dates.some(([from, to]) => from <= at && at <= to);
    const leads = /^(in|since|until|from|by|before|after|for|to|around|of)$/i.test(tokens[at - 1]?.text ?? '');
    const isYear = /^(1[0-9]|20)\d\d$/.test(text) && leads && !/^(NOUN|ADJ|PROPN)$/.test(tokens[at + 1]?.pos ?? '');
    return isYear && !isKnown ? [[at, at]] : [];
  });
}

/** "Joliot-Curie" and "write-ahead" are one word each; the tagger splits them. */
function joinHyphens({ text, tokens, dates }: Sentence): Sentence {
  const joined: Token[] = [];
  const positions = tokens.map((token, index) => {
    const last = joined.at(-1);
    const previous = tokens[index - 1];
    const isHyphen = token.text === '-' && token.joined && /^\p{L}/u.test(tokens[index + 1]?.text ?? '');
    const isPart = previous?.text === '-' && token.joined && last?.text.endsWith('-');
    // The tagger cuts "Kosanović" before a letter that it does not know.
    const isCut =
      token.joined &&
      (/^(?![a-z])\p{L}/iu.test(token.text) ||
        (/(?![a-z])\p{L}$/iu.test(last?.text ?? '') && /^\p{L}/u.test(token.text)));
    if (last && /\p{L}-?$/u.test(last.text) && ((isHyphen && tokens[index + 1]!.joined) || isPart || isCut)) {
      const isName =
        /^(\p{Ll}['’])?[^\p{Ll}]/u.test(token.text) &&
        (last.pos === 'PROPN' || (token.pos === 'PROPN' && /^\p{Lu}/u.test(last.text)));
      joined[joined.length - 1] = {
        text: last.text + token.text,
        lemma: last.text.toLowerCase() + token.lemma,
        pos: isName || (isCut && /^\p{Lu}/u.test(last.text)) ? 'PROPN' : token.pos === 'NOUN' ? 'NOUN' : 'ADJ',
        joined: last.joined,
      };
    } else joined.push({ ...token });
    return joined.length - 1;
  });
  return { text, tokens: joined, dates: dates.map(([from, to]) => [positions[from]!, positions[to]!]) };
}
