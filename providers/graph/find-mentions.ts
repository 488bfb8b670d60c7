/** Names, dates and noun phrases in sentences, and the types of names. */
import nlp from 'compromise';
import type { EntityType } from '../../domain/content/graph.js';
import type { Sentence, Token } from './read-sentences.js';

const HONORIFIC = /^(mr|mrs|ms|miss|dr|prof|professor|sir|dame|lord|lady|captain|capt|president|judge|rev|st)\.?$/i;
export const LEGAL_FORM =
  /^(as|asa|ab|sa|se|gmbh|ag|ltd|limited|llc|inc|corp|plc|bv|nv|oy|oyj|aps|kg|co|spa|srl|pty)\.?$/i;
const ORGANIZATION =
  /\b(university|institute|college|school|bank|agency|council|ministry|department|committee|commission|association|foundation|company|corporation|group|holdings?|union|society|authority|court|laborator(y|ies)|labs?|hospital|museum|partners|systems|technologies|industries|energy|airlines?|motors|party|board|office|service|trust|fund)\b/i;
const PLACE =
  /\b(fjord|river|lake|mount|mountains?|island|islands|bay|sea|ocean|valley|street|road|avenue|square|park|county|province|district|harbou?r|port|city|town|village|coast|peninsula|strait|beach|forest|desert|bridge|airport|station)$/i;

/** Classifying takes half a millisecond, and a text repeats its names. */
const cache = new Map<string, EntityType>();
const CACHE_LIMIT = 20_000;

/**
 * Determines the type of a proper name from its words and the word before it.
 * @param name without article and honorific
 */
export function classifyName(name: string, before: string | undefined): EntityType {
  if (before !== undefined && HONORIFIC.test(before)) return 'person';
  const type = classify(name);
  // A name after "in" is a place, unless the word lists show another type.
  return type === 'name' && before !== undefined && /^(in|near)$/i.test(before) ? 'place' : type;
}

function classify(name: string): EntityType {
  const cached = cache.get(name);
  if (cached) return cached;
  if (cache.size >= CACHE_LIMIT) cache.clear();
  const type = classifyByWords(name);
  cache.set(name, type);
  return type;
}

function classifyByWords(name: string): EntityType {
  const words = name.split(' ');
  if (words.length > 1 && LEGAL_FORM.test(words.at(-1)!)) return 'organization';
  if (PLACE.test(name)) return 'place';
  if (ORGANIZATION.test(name)) return 'organization';
  const doc = nlp(name);
  if (doc.has('#Organization')) return 'organization';
  if (doc.has('^#Place+$')) return 'place';
  if (doc.has('^#Person+$') || (words.length > 1 && doc.has('^#FirstName'))) return 'person';
  return 'name';
}

/** An entity at its position in a sentence. */
export interface Mention {
  name: string;
  type: EntityType;
  /** First and last token. */
  from: number;
  to: number;
  /** True when its capital letter may only be that of the sentence; another mention must show that it is a name. */
  doubtful: boolean;
}

const MAX_WORDS = 6;
/** Words that do not make a concept together with a noun. */
const EMPTY_WORD =
  /^(other|same|such|many|much|several|few|more|most|own|new|old|first|second|third|last|next|good|great|big|large|small|certain|different|various|following|above|below|whole|main|able|number|lot|kind|sort|type|way|thing|part|example|case|time|year|month|week|day|hour|minute|people|page|section|table|figure|item|total)s?$/i;

/** Finds the names, dates and noun phrases of a sentence, in reading order and without overlaps. */
export function findMentions({ tokens, dates }: Sentence): Mention[] {
  const mentions: Mention[] = dates.map(([from, to]) => ({
    name: textOf(tokens, from, to),
    type: 'date',
    from,
    to,
    doubtful: false,
  }));
  const inDate = new Set(dates.flatMap(([from, to]) => range(from, to)));
  const free = (index: number) => index < tokens.length && !inDate.has(index);
  for (let index = 0; index < tokens.length; index++) {
    if (!free(index)) continue;
    const mention = isName(tokens[index]!) ? readName(tokens, index, free) : readConcept(tokens, index, free);
    if (!mention) continue;
    // Text before a colon is a label ("Price: 40"), not an entity.
    if (mention.name !== '' && tokens[mention.to + 1]?.text !== ':') mentions.push(mention);
    index = mention.to;
  }
  return mentions.sort((a, b) => a.from - b.from);
}

function readName(tokens: Token[], start: number, free: (index: number) => boolean): Mention {
  let to = start;
  for (;;) {
    const next = tokens[to + 1];
    if (!next || !free(to + 1) || to - start >= MAX_WORDS) break;
    const joins =
      /^(of|&|de|van|von|der|la|del)$/.test(next.text) && free(to + 2) && tokens[to + 2] && isName(tokens[to + 2]!);
    if (isName(next) || (LEGAL_FORM.test(next.text) && /^[A-Z]/.test(next.text))) to += 1;
    else if (joins) to += 2;
    else break;
  }
  let from = start;
  while (from < to && HONORIFIC.test(tokens[from]!.text)) from++;
  const name = textOf(tokens, from, to);
  const type = classifyName(name, tokens[from - 1]?.text);
  const single = from === to;
  return { name: isNoise(name) ? '' : name, type, from, to, doubtful: start === 0 && single && type === 'name' };
}

function readConcept(tokens: Token[], start: number, free: (index: number) => boolean): Mention | null {
  let to = start - 1;
  while (free(to + 1) && /^(ADJ|NOUN)$/.test(tokens[to + 1]!.pos) && /^[\p{L}-]{2,}$/u.test(tokens[to + 1]!.text)) to++;
  let from = start;
  while (from <= to && EMPTY_WORD.test(tokens[from]!.text)) from++;
  while (to >= from && tokens[to]!.pos !== 'NOUN') to--;
  if (to < from) return null;
  const words = [...tokens.slice(from, to).map((token) => token.text), tokens[to]!.lemma];
  const name = words.join(' ').toLowerCase();
  const specific = words.length <= 4 && name.length >= 4 && !EMPTY_WORD.test(words.at(-1)!);
  return { name: specific ? name : '', type: 'concept', from, to, doubtful: false };
}

/** A proper noun with a capital letter; the tagger alone mistakes some words for names. */
const isName = (token: Token) => token.pos === 'PROPN' && /^\p{Lu}/u.test(token.text);

function isNoise(name: string): boolean {
  return (
    name.length < 2 ||
    name.length > 80 ||
    !/\p{L}{2}/u.test(name) ||
    /^(january|february|march|april|may|june|july|august|september|october|november|december|monday|tuesday|wednesday|thursday|friday|saturday|sunday)$/i.test(
      name,
    ) ||
    /https?:|[@{}<>|\\]/.test(name)
  );
}

function textOf(tokens: Token[], from: number, to: number): string {
  return tokens
    .slice(from, to + 1)
    .map((token) => token.text)
    .join(' ')
    .replace(/ ([.,])/g, '$1')
    .replace(/[.,]$/, '')
    .trim();
}

function range(from: number, to: number): number[] {
  return Array.from({ length: to - from + 1 }, (_, index) => from + index);
}
