/** The parts of a noun phrase, and what the phrase is by them: its name, its words, its entity. */
import type { Mention, NounPhrase } from './mention.js';
import { isCommon, isEntity, isName, readName } from './proper-names.js';
import type { Token } from './read-sentences.js';
import { isRole } from './vocabulary.js';

/** Words that do not make a concept together with a noun. */
const EMPTY_WORD =
  /^(other|same|such|many|much|several|few|more|most|own|new|old|first|second|third|last|next|good|great|big|large|small|certain|different|various|following|above|below|whole|main|able|number|lot|kind|sort|type|way|thing|part|example|case|time|year|month|week|day|hour|minute|people|page|section|table|figure|item|total|today|yesterday|tomorrow|tonight|morning|regard)s?$/i;

/** A name, or a single word. */
export interface Part {
  from: number;
  to: number;
  name: Mention | null;
  isNoun: boolean;
}

export const hasNoun = (parts: readonly Part[]) => parts.some(({ name, isNoun }) => name !== null || isNoun);

/** Reads the part that starts at a token. @returns null when the token belongs to no noun phrase */
export function readPart(tokens: readonly Token[], at: number, startsDate: (index: number) => boolean): Part | null {
  const token = tokens[at]!;
  if (isName(token) && !isCommon(tokens, at)) {
    const { mention, to } = readName(tokens, at, startsDate);
    return { from: at, to, name: mention, isNoun: false };
  }
  const isNoun = token.pos === 'NOUN' || token.pos === 'X' || token.pos === 'PROPN';
  const next = tokens[at + 1];
  const belongs = isNoun || /^(ADJ|NUM)$/.test(token.pos) || (token.pos === 'ADV' && next?.pos === 'ADJ');
  return belongs && /[\p{L}\p{N}]/u.test(token.text) ? { from: at, to: at, name: null, isNoun } : null;
}

/** Fills in a phrase from its parts. */
export function readParts(phrase: NounPhrase, tokens: readonly Token[], parts: readonly Part[]): void {
  const last = parts.at(-1)!;
  for (const { name } of parts) if (name && name !== last.name && isEntity(name)) phrase.others.push(name);
  phrase.entity = headOf(tokens, parts);
  phrase.isName = last.name !== null;
  const common = last.name ? parts.slice(0, -1) : parts;
  const nounAt = common.findLastIndex(({ isNoun }) => isNoun);
  // "the tall Pierre Curie": without a noun in front of a name, there is no title.
  const described = last.name ? common.slice(0, nounAt + 1) : common;
  phrase.words = wordsOf(tokens, described);
  if (nounAt === -1) {
    readTitle(phrase);
    return;
  }
  const { text, lemma } = tokens[common[nounAt]!.to]!;
  phrase.noun = lemma.toLowerCase();
  if (last.name) phrase.title = headOf(tokens, described);
  else
    phrase.isPlural =
      phrase.noun !== text.toLowerCase() || (phrase.noun === 'people' && !/^an?$/.test(phrase.determiner));
}

/** "Mayor Carlos Moreira", "Foreign Minister Anna Berg": what a person is, if it is more than a form of address. */
function readTitle(phrase: NounPhrase): void {
  const { entity } = phrase;
  const noun = entity?.title?.split(' ').at(-1)?.replace('.', '') ?? '';
  // There are many kings in a text.
  if (!entity?.title || !isRole(noun) || /^(king|queen|prince|princess|pope)$/.test(noun)) return;
  phrase.noun = noun;
  phrase.words = entity.title;
  if (entity.title.includes(' '))
    phrase.title = { name: entity.title, type: 'concept', from: phrase.from, doubtful: false };
}

/** The entity of a phrase: its name, or its common words when they are specific. */
export function headOf(tokens: readonly Token[], parts: readonly Part[]): Mention | null {
  const last = parts.at(-1)!;
  if (last.name) return isEntity(last.name) ? last.name : null;
  const first = parts.findIndex((part) => part.name !== null || !EMPTY_WORD.test(tokens[part.from]!.text));
  const specific = first === -1 ? [] : parts.slice(first).filter(({ from }) => !/^(NUM|ADV)$/.test(tokens[from]!.pos));
  const noun = tokens[last.to]!;
  if (specific.length < 2 || specific.length > 4 || !last.isNoun || EMPTY_WORD.test(noun.lemma)) return null;
  if (specific.some(({ from, name }) => name === null && !/^[\p{L}-]{2,}$/u.test(tokens[from]!.text))) return null;
  if (specific.some(({ from, name }) => tokens[from]!.pos === 'X' || name?.name === '')) return null;
  const modifiers = specific.slice(0, -1).map((part) => part.name?.name || modifier(tokens, part.from));
  const name = [...modifiers, noun.lemma.toLowerCase()].join(' ');
  return { name, type: 'concept', from: specific[0]!.from, doubtful: false };
}

/** "Helsinki-based" keeps its capital letter, which the first word of a sentence has anyway. */
const modifier = (tokens: readonly Token[], at: number) =>
  at === 0 ? tokens[at]!.text.toLowerCase() : tokens[at]!.text;

const wordsOf = (tokens: readonly Token[], parts: readonly Part[]) =>
  parts.length === 0
    ? ''
    : tokens
        .slice(parts[0]!.from, parts.at(-1)!.to + 1)
        .filter(({ pos }) => pos !== 'ADV')
        .map(({ text }) => text)
        .join(' ');
