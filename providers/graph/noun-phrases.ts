/** The noun phrases of a sentence: its names, dates, pronouns and phrases of common nouns. */
import type { EntityType } from '../../domain/content/graph.js';
import { classifyName, HONORIFIC, LEGAL_FORM, ORGANIZATION, TITLE_END, TITLE_WORD } from './classify-name.js';
import type { Sentence, Token } from './read-sentences.js';
import { isDemonym, isRole, usualTag } from './vocabulary.js';

/** An entity where a sentence names it. */
export interface Mention {
  name: string;
  type: EntityType;
  /** Position of the first token, for the reading order. */
  from: number;
  /** True when its capital letter may only be that of the sentence; another mention must show that it is a name. */
  doubtful: boolean;
  /** The words in front of a name that are a person's title, in small letters: "mayor", "foreign minister", "mrs". */
  title?: string;
}

/** What "her", "its" or "Acme's" refers to. */
export interface Possessor {
  pronoun: string;
  entity: Mention | null;
  /** What "their" refers to. */
  group?: readonly Mention[] | undefined;
}

/** A noun with the words that belong to it: "the longest river", "her colleague Raymond Gosling". */
export interface NounPhrase {
  kind: 'noun';
  /** In small letters; empty without one. */
  preposition: string;
  from: number;
  to: number;
  /** In small letters; empty without one. */
  determiner: string;
  possessor: Possessor | null;
  /** In small letters, when the phrase is a pronoun, else empty. */
  pronoun: string;
  /** The head of the phrase as an entity; null for a bare common noun. */
  entity: Mention | null;
  /** The common noun at the head or in front of the name, as a lemma; empty without one. */
  noun: string;
  /** The common words without articles: "longest river". */
  words: string;
  isName: boolean;
  isPlural: boolean;
  /** What a plural refers to: "they", "the two physicists". */
  group?: readonly Mention[] | undefined;
  /** "French physicist" in "the French physicist Pierre Curie". */
  title: Mention | null;
  /** Names that belong to the phrase without being its head: "Basel" in "the Basel brigade". */
  others: Mention[];
}

const MAX_WORDS = 6;
/** Words that do not make a concept together with a noun. */
const EMPTY_WORD =
  /^(other|same|such|many|much|several|few|more|most|own|new|old|first|second|third|last|next|good|great|big|large|small|certain|different|various|following|above|below|whole|main|able|number|lot|kind|sort|type|way|thing|part|example|case|time|year|month|week|day|hour|minute|people|page|section|table|figure|item|total|today|yesterday|tomorrow|tonight|morning|regard)s?$/i;
const POSSESSIVE = /^(his|her|its|their|whose)$/i;

/** Finds the noun phrases of a sentence, in reading order and without overlaps. */
export function findNounPhrases({ tokens, dates }: Sentence): NounPhrase[] {
  const phrases: NounPhrase[] = [];
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

function emptyPhrase(from: number, to: number): NounPhrase {
  return {
    kind: 'noun',
    preposition: '',
    from,
    to,
    determiner: '',
    possessor: null,
    pronoun: '',
    entity: null,
    noun: '',
    words: '',
    isName: false,
    isPlural: false,
    title: null,
    others: [],
  };
}

function datePhrase(tokens: readonly Token[], [from, to]: [number, number]): NounPhrase {
  const phrase = emptyPhrase(from, to);
  phrase.entity = { name: textOf(tokens, from, to), type: 'date', from, doubtful: false };
  return phrase;
}

/** A name, or a single word. */
interface Part {
  from: number;
  to: number;
  name: Mention | null;
  isNoun: boolean;
}

function readPhrase(tokens: readonly Token[], from: number, startsDate: (index: number) => boolean): NounPhrase | null {
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
    return /^(which|who|that|whom|there)$/.test(text)
      ? null
      : Object.assign(emptyPhrase(from, from), { pronoun: text });
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
  const phrase = emptyPhrase(from, Math.max(to, from));
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

const hasNoun = (parts: readonly Part[]) => parts.some(({ name, isNoun }) => name !== null || isNoun);
const isPossessive = ({ text, pos }: Token) => /^['’]s?$/.test(text) && /^(PART|PRON|AUX|PUNCT)$/.test(pos);

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
function readParts(phrase: NounPhrase, tokens: readonly Token[], parts: readonly Part[]): void {
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
function headOf(tokens: readonly Token[], parts: readonly Part[]): Mention | null {
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

/** "a Token", "each Client": an article shows a common noun. */
const isCommon = (tokens: readonly Token[], at: number) =>
  /^(a|an|each|every|any|no)$/i.test(tokens[at - 1]?.text ?? '') &&
  !isName(tokens[at + 1]) &&
  usualTag(tokens[at]!.text) === 'NOUN';

/** "Swedish" alone is no entity, and neither is a name that is noise. */
const isEntity = ({ name, type }: Mention) => name !== '' && type !== 'concept';

/** A proper noun with a capital letter; the tagger alone mistakes some words for names. */
const isName = (token: Token | undefined) => token?.pos === 'PROPN' && /^\p{Lu}/u.test(token.text);

function readName(
  tokens: readonly Token[],
  start: number,
  startsDate: (index: number) => boolean,
): { mention: Mention; to: number } {
  let to = start;
  while (to - start < MAX_WORDS) {
    const next = tokens[to + 1];
    if (!next || startsDate(to + 1)) break;
    const goesOn = isName(tokens[to + 2]) && !startsDate(to + 2);
    const joins =
      goesOn &&
      (next.text !== 'of' || mayHaveOf(tokens, start, to)) &&
      /^(of|&|de|van|von|der|la|del|di|da|the|el|al|ibn|bin)$/.test(next.text);
    const isPrize = next.text === 'in' && goesOn && /^(prize|award|medal)$/i.test(tokens[to]!.text);
    const owns = /^['’]s$/.test(next.text) && goesOn && ORGANIZATION.test(tokens[to + 2]!.text);
    if (isName(next) || (LEGAL_FORM.test(next.text) && /^[A-Z]/.test(next.text))) to += 1;
    else if (joins || owns || isPrize) to += 2;
    else break;
  }
  const number = tokens[to + 1];
  const isNumbered =
    number && /^\d+(\.\d+)*$/.test(number.text) && !startsDate(to + 1) && tokens[to + 2]?.pos !== 'NOUN';
  if (isNumbered) to += 1;
  const whole = textOf(tokens, start, to);
  const from = isNamedAfterPerson(whole) ? start : afterTitle(tokens, start, to);
  const name = textOf(tokens, from, to);
  const type = isDemonym(name) ? 'concept' : typeOf(name, tokens[from - 1]?.text);
  const doubtful = start === 0 && from === to && type === 'name' && usualTag(name) !== '';
  const title = from > start ? { title: textOf(tokens, start, from - 1).toLowerCase() } : {};
  return { mention: { name: isNoise(name) ? '' : name, type, from, doubtful, ...title }, to };
}

/** "the Rosetta Stone": no person, whatever its words are. */
function typeOf(name: string, before: string | undefined): EntityType {
  const type = classifyName(name, before);
  return type === 'person' && /^the$/i.test(before ?? '') ? 'name' : type;
}

/** "Dr. Keller", "Chief Executive Bruch", "Transport Minister Albert Rösti": the name begins after the title. */
function afterTitle(tokens: readonly Token[], start: number, to: number): number {
  let from = start;
  for (let at = start; at < to; at++) {
    const { text } = tokens[at]!;
    const isTitle = HONORIFIC.test(text) || (TITLE_END.test(text) && at - start <= 2);
    if (isTitle) from = at + 1;
    else if (!TITLE_WORD.test(text) && !TITLE_END.test(tokens[at + 1]!.text)) break;
  }
  return from;
}

/** "St. Olav's Hospital", "King's College", "Prince Edward Island": what seems to be a title belongs to the name. */
const isNamedAfterPerson = (name: string) =>
  /^\p{Lu}/u.test(name) &&
  /^(place|organization)$/.test(classifyName(name, undefined)) &&
  !/^(mr|mrs|ms|dr|prof)\b/i.test(name);

/** "Bank of England", but not "Ruth Meyer of Kepler Bank". */
function mayHaveOf(tokens: readonly Token[], from: number, to: number): boolean {
  const type = classifyName(textOf(tokens, from, to), undefined);
  const isTheName = type === 'name' && /^the$/i.test(tokens[from - 1]?.text ?? '');
  return type === 'organization' || isTheName || (from === to && type !== 'person');
}

function isNoise(name: string): boolean {
  return (
    name.length < 2 ||
    name.length > 80 ||
    !/\p{L}{2}/u.test(name) ||
    /^(january|february|march|april|may|june|july|august|september|october|november|december|monday|tuesday|wednesday|thursday|friday|saturday|sunday)$/i.test(
      name,
    ) ||
    /^\p{Lu}\p{Ll}$|^(UTC|GMT|CET|CEST|EST|PST|AM|PM|[KMGT]i?B)$/u.test(name) ||
    /https?:|[@{}<>|\\]/.test(name)
  );
}

function textOf(tokens: readonly Token[], from: number, to: number): string {
  return tokens
    .slice(from, to + 1)
    .map(({ text, joined }, index) => (index === 0 || joined ? text : ` ${text}`))
    .join('')
    .replace(/[.,]$/, '')
    .trim();
}
