/** What the clauses of a sentence state: who does what, with whom, where and when. */
import { ClauseReading, type Reading } from './clause.js';
import { readNoun } from './clause-nouns.js';
import { readVerb } from './clause-verbs.js';
import type { Noun } from './mention.js';
import type { Mark, Phrase } from './phrases.js';
import { isTime } from './vocabulary.js';

/** What follows these is not stated as a fact. */
const DOUBTING = /^(deny|doubt|dispute)$/;
const CONDITIONAL = /^(if|unless|whether)$/;

/** Reads the phrases of a sentence from left to right. */
export function readClauses(phrases: readonly Phrase[]): Reading {
  const reading = new ClauseReading(phrases);
  phrases.forEach((phrase, at) => {
    if (phrase.kind === 'noun') readNoun(reading, phrase, at);
    else if (phrase.kind === 'verb') readVerb(reading, phrase, at);
    else if (phrase.kind === 'relative') readRelative(reading, phrase, at);
    else if (phrase.kind === 'that') readSubordinate(reading, phrase.word, at);
    else if (phrase.kind === 'break') reading.startOver();
    // "Neither Audi nor Porsche will move"
    else if (/^n?either$|^nor$/.test(phrase.word)) reading.clause.isUnstated = true;
  });
  const { statements, roles } = reading;
  return { statements, roles: roles.sort((a, b) => a.noun.from - b.noun.from) };
}

function readRelative(reading: ClauseReading, { word, preposition = '' }: Mark, at: number): void {
  const { phrases } = reading;
  const antecedent = antecedentOf(phrases, word, phrases[at - 1]?.kind === 'noun' ? at - 1 : at - 2);
  if (!antecedent) return;
  if (antecedent === phrases[at - 1]) antecedent.isDefined = true;
  const candidates = reading.describedBy(antecedent);
  const clause = reading.embed();
  clause.isUnstated ||= word === 'that' && isContent(phrases, antecedent, at);
  if (phrases[at + 1]?.kind === 'verb' && preposition === '' && word !== 'where') {
    clause.candidates = candidates;
    clause.isRelative = true;
    return;
  }
  if (word === 'where' && saysMore(phrases, at)) return;
  clause.antecedent = antecedent;
  clause.antecedentBy = word !== 'where' ? preposition : antecedent.entity?.type === 'place' ? 'in' : 'at';
}

/** "Rumours that Daimler bought Tesla", "claims that Anna works for Shell": what is said, and not "the bank that Anna founded". */
function isContent(
  phrases: readonly Phrase[],
  { noun, isName, isPlural, determiner, possessor }: Noun,
  start: number,
): boolean {
  // "the fact that Shell sold Raizen", "the year that Apple bought Beats"
  if (isName || noun === 'fact' || isTime(noun) || phrases[start + 1]?.kind !== 'noun') return false;
  const verb = phrases.findIndex(({ kind }, at) => at > start && kind === 'verb');
  const object = phrases[verb + 1];
  const hasObject = object?.kind === 'noun' && object.preposition === '' && object.entity?.type !== 'date';
  return hasObject || (isPlural && determiner === '' && !possessor);
}

/** "where he worked for Elgin Watch": more than where something happened. */
function saysMore(phrases: readonly Phrase[], start: number): boolean {
  const verb = phrases.findIndex(({ kind }, at) => at > start && kind === 'verb');
  const next = phrases[verb + 1];
  return next?.kind === 'noun' && next.entity?.type !== 'date';
}

/** "a novel by Tracy Chevalier, which": the novel. "at Oxford in 1920, where": Oxford. */
function antecedentOf(phrases: readonly Phrase[], word: string, end: number): Noun | null {
  for (let at = end; ; at--) {
    const noun = phrases[at];
    if (noun?.kind !== 'noun') return null;
    const type = noun.entity?.type;
    const isOther = type === 'date' || (word === 'which' && type === 'person');
    if (!isOther) return noun;
  }
}

function readSubordinate(reading: ClauseReading, word: string, at: number): void {
  const { verb, candidates } = reading.clause;
  // "It is not true that"
  const isDenied = word === 'that' && verb !== null && /\b(not|never)\b|n['’]t\b/.test(verb.words);
  const head = reading.phrases[at - 1];
  const isSaid = word === 'that' && !verb && head?.kind === 'noun' && isContent(reading.phrases, head, at);
  if (CONDITIONAL.test(word) || isDenied || (verb && DOUBTING.test(verb.lemma))) reading.suppose();
  if (!verb && candidates.length > 0) reading.embed().isUnstated ||= isSaid;
  else {
    if (verb) reading.outer.length = 0;
    // "left because Ada was born, and moved": after a comma the main clause goes on.
    if (verb && word !== 'that') reading.embed().isSubordinate = true;
    else reading.begin();
  }
}
