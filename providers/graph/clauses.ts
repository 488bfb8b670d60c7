/** What the clauses of a sentence state: who does what, with whom, where and when. */
import { ClauseReading, type Reading } from './clause.js';
import { readNoun } from './clause-nouns.js';
import { readVerb } from './clause-verbs.js';
import type { Phrase } from './phrases.js';

/** What follows these is not stated as a fact. */
const DOUBTING = /^(deny|doubt|dispute)$/;
const CONDITIONAL = /^(if|unless|whether)$/;

/** Reads the phrases of a sentence from left to right. */
export function readClauses(phrases: readonly Phrase[]): Reading {
  const reading = new ClauseReading(phrases);
  phrases.forEach((phrase, at) => {
    if (phrase.kind === 'noun') readNoun(reading, phrase, at);
    else if (phrase.kind === 'verb') readVerb(reading, phrase, at);
    else if (phrase.kind === 'relative') readRelative(reading, at);
    else if (phrase.kind === 'that') readSubordinate(reading, phrase.word);
    else if (phrase.kind === 'break') reading.startOver();
  });
  const { statements, roles } = reading;
  return { statements, roles: roles.sort((a, b) => a.noun.from - b.noun.from) };
}

function readRelative(reading: ClauseReading, at: number): void {
  const { phrases } = reading;
  const [before, next] = [phrases[at - 1], phrases[at + 1]];
  const antecedent = before?.kind === 'noun' ? before : phrases[at - 2];
  if (antecedent?.kind !== 'noun') return;
  const candidates = reading.describedBy(antecedent);
  const clause = reading.embed();
  if (next?.kind === 'verb') {
    clause.candidates = candidates;
    clause.isRelative = true;
  } else clause.antecedent = antecedent;
}

function readSubordinate(reading: ClauseReading, word: string): void {
  const { verb, candidates } = reading.clause;
  if (CONDITIONAL.test(word) || (verb && DOUBTING.test(verb.lemma))) reading.suppose();
  if (!verb && candidates.length > 0) reading.embed();
  else {
    if (verb) reading.outer.length = 0;
    reading.begin();
  }
}
