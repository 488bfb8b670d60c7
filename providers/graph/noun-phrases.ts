/** The noun phrases of a sentence: its names, dates, pronouns and phrases of common nouns. */
import { TITLE_WORD } from './classify-name.js';
import { type Mention, Noun, type Possessor } from './mention.js';
import { CODE_WORD } from './plain-prose.js';
import { isCommon, isEntity, isName, readName, textOf } from './proper-names.js';
import type { Sentence, Token } from './tagger.js';
import { isRole } from './vocabulary.js';

const POSSESSIVE = /^(his|her|its|their|whose)$/i;

/** Finds the noun phrases of a sentence, in reading order and without overlaps. */
export function findNounPhrases({ tokens, dates }: Sentence): Noun[] {
  const phrases: Noun[] = [];
  const dateAt = new Map(dates.map((range) => [range[0], range]));
  for (let at = 0; at < tokens.length; at++) {
    const date = dateAt.get(at);
    const phrase = date ? datePhrase(tokens, date) : readPhrase(tokens, at, (index) => dateAt.has(index));
    if (!phrase) continue;
    // Text before a colon is a label ("Price: 40"), not an entity.
    const isLabel = tokens[phrase.to + 1]?.text === ':';
    phrases.push(isLabel ? { ...phrase, entity: null, title: null, others: [] } : phrase);
    at = phrase.to;
  }
  return phrases;
}

function datePhrase(tokens: readonly Token[], [from, to]: [number, number]): Noun {
  const phrase = new Noun(from, to);
  phrase.entity = { name: textOf(tokens, from, to), type: 'date', from, doubtful: false };
  return phrase;
}

function readPhrase(tokens: readonly Token[], from: number, startsDate: (index: number) => boolean): Noun | null {
  const start = tokens[from]!;
  if (!/^(PRON|DET|NOUN|PROPN|ADJ|NUM|ADV|X)$/.test(start.pos)) return null;
  const text = start.text.toLowerCase();
  const next = tokens[from + 1];
  let at = from;
  let determiner = '';
  let possessor: Possessor | null = null;
  if (POSSESSIVE.test(text) && next && /^(NOUN|ADJ|PROPN|NUM)$/.test(next.pos)) {
    possessor = { pronoun: text, entity: null };
    at++;
  } else if (start.pos === 'PRON') {
    return /^(which|who|that|whom|there)$/.test(text) ? null : Object.assign(new Noun(from, from), { pronoun: text });
  } else if (text === 'no' && next?.text === 'longer') {
    return null;
  } else if (start.pos === 'DET' && !/^(which|whose)$/.test(text)) {
    determiner = text;
    at++;
  }
  const others: Mention[] = [];
  let parts: Part[] = [];
  for (; at < tokens.length && !startsDate(at); at++) {
    const part = readPart(tokens, at, startsDate);
    // "married Ilona Pap two years later", "by Iberdrola last year": another phrase begins.
    if (part && hasNoun(parts) && (tokens[at]!.pos === 'NUM' || /^(last|next)$/.test(tokens[at]!.text))) break;
    if (part) {
      parts.push(part);
      at = part.to;
    } else if (isPossessive(tokens[at]!) && parts.length > 0) {
      const owner = headOf(tokens, parts);
      possessor = { pronoun: '', entity: owner };
      if (owner) others.push(owner);
      parts = [];
      determiner = '';
    } else break;
  }
  while (parts.length > 0 && parts.at(-1)!.name === null && !parts.at(-1)!.isNoun && hasNoun(parts)) parts.pop();
  // "its main rival": an adjective stands for a noun.
  const last = parts.at(-1);
  if (last && !hasNoun(parts) && tokens[last.to]!.pos === 'ADJ') last.isNoun = determiner !== '' || possessor !== null;
  const to = last?.to ?? at - 1;
  if (parts.length === 0 && determiner === '' && possessor === null) return null;
  const phrase = new Noun(from, Math.max(to, from));
  phrase.others = others;
  if (parts.length === 0) {
    phrase.pronoun = text;
    return phrase;
  }
  phrase.determiner = determiner;
  phrase.possessor = possessor;
  readParts(phrase, tokens, parts);
  return phrase;
}

const isPossessive = ({ text, pos }: Token) => /^['’]s?$/.test(text) && /^(PART|PRON|AUX|PUNCT)$/.test(pos);

/** Words that do not make a concept together with a noun. */
const EMPTY_WORD =
  /^(other|same|such|many|much|several|few|more|most|own|new|old|first|second|third|last|next|good|great|big|large|small|certain|different|various|following|above|below|whole|main|able|number|lot|kind|sort|type|way|thing|part|example|case|time|year|month|week|day|hour|minute|people|page|section|table|figure|item|total|today|yesterday|tomorrow|tonight|morning|regard)s?$/i;

/** A name, or a single word. */
interface Part {
  from: number;
  to: number;
  name: Mention | null;
  isNoun: boolean;
}

const hasNoun = (parts: readonly Part[]) => parts.some(({ name, isNoun }) => name !== null || isNoun);

/** Reads the part that starts at a token. @returns null when the token belongs to no noun phrase */
function readPart(tokens: readonly Token[], at: number, startsDate: (index: number) => boolean): Part | null {
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
function readParts(phrase: Noun, tokens: readonly Token[], parts: readonly Part[]): void {
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
function readTitle(phrase: Noun): void {
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
function headOf(tokens: readonly Token[], parts: readonly Part[]): Mention | null {
  const last = parts.at(-1)!;
  if (last.name) return isEntity(last.name) ? last.name : null;
  const first = parts.findIndex((part) => part.name !== null || !EMPTY_WORD.test(tokens[part.from]!.text));
  const specific = first === -1 ? [] : parts.slice(first).filter(({ from }) => !isAside(tokens, from));
  const noun = tokens[last.to]!;
  if (specific.length < 2 || specific.length > 4 || !last.isNoun || EMPTY_WORD.test(noun.lemma)) return null;
  if (specific.some(({ from, name }) => name === null && !/^[\p{L}-]{2,}$/u.test(tokens[from]!.text))) return null;
  if (specific.some(({ from, name }) => tokens[from]!.pos === 'X' || name?.name === '')) return null;
  const modifiers = specific.slice(0, -1).map((part) => part.name?.name || modifier(tokens, part.from));
  const name = [...modifiers, /^\p{Lu}{2,}$/u.test(noun.text) ? noun.text : noun.lemma.toLowerCase()].join(' ');
  return { name, type: 'concept', from: specific[0]!.from, doubtful: false };
}

/** "two", "very", "privately held" */
const isAside = (tokens: readonly Token[], at: number) =>
  /^(NUM|ADV)$/.test(tokens[at]!.pos) ||
  (/ly$/.test(tokens[at - 1]?.text ?? '') && tokens[at]!.pos === 'ADJ' && tokens[at]!.text !== tokens[at]!.lemma);

/** "Helsinki-based" keeps its capital letter, which the first word of a sentence and "Prime Minister" have anyway. */
const modifier = (tokens: readonly Token[], at: number) =>
  at === 0 || TITLE_WORD.test(tokens[at]!.text) ? tokens[at]!.text.toLowerCase() : tokens[at]!.text;

const wordsOf = (tokens: readonly Token[], parts: readonly Part[]) =>
  parts.length === 0
    ? ''
    : tokens
        .slice(parts[0]!.from, parts.at(-1)!.to + 1)
        .filter(({ pos, text }) => pos !== 'ADV' && text !== CODE_WORD)
        .map(({ text }) => text)
        .join(' ');
