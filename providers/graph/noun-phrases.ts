/** The noun phrases of a sentence: its names, dates, pronouns and phrases of common nouns. */
import { emptyPhrase, type Mention, type NounPhrase, type Possessor } from './mention.js';
import { hasNoun, headOf, type Part, readPart, readParts } from './phrase-parts.js';
import { textOf } from './proper-names.js';
import type { Sentence, Token } from './read-sentences.js';

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

function datePhrase(tokens: readonly Token[], [from, to]: [number, number]): NounPhrase {
  const phrase = emptyPhrase(from, to);
  phrase.entity = { name: textOf(tokens, from, to), type: 'date', from, doubtful: false };
  return phrase;
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

const isPossessive = ({ text, pos }: Token) => /^['’]s?$/.test(text) && /^(PART|PRON|AUX|PUNCT)$/.test(pos);
