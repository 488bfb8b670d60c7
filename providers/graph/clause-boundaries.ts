/** Where a clause begins and ends among the phrases of a sentence. */
import type { Noun } from './mention.js';
import type { Phrase, Verb } from './phrases.js';

/** After these, a clause may follow without "that". */
const REPORTING =
  /^(say|announce|report|confirm|think|believe|claim|know|expect|hope|add|note|explain|argue|warn|admit|deny|write|fear|estimate|suggest)$/;
/** These may begin a clause: "after Anna left". */
export const TEMPORAL = /^(after|before|since|until|as|than|while|once)$/;

/** "and Haddad became", ", Bob joined", "said Delmont would": a noun phrase that begins another clause. */
export function startsClause(phrases: readonly Phrase[], at: number): boolean {
  const noun = phrases[at] as Noun;
  const last = phrases[at - 1];
  if (noun.possessor?.pronoun === 'whose') return true;
  if (noun.preposition !== '') return leadsClause(phrases, at);
  const isNominative = /^(he|she|it|they|we|i)$/.test(noun.pronoun);
  const reports = last?.kind === 'verb' && REPORTING.test(last.lemma);
  const isBoundary = last?.kind === 'comma' || last?.kind === 'and' || reports;
  // "opened it in 2022 after Brandenburg granted": a pronoun has its verb beside it.
  if (isNominative && !isBoundary) return phrases[at + 1]?.kind === 'verb' && isFiniteVerb(phrases, at + 1);
  return isBoundary && verbFollows(phrases, at);
}

/** "after Anna left", ", and in 1708 he entered" */
function leadsClause(phrases: readonly Phrase[], at: number): boolean {
  const { preposition } = phrases[at] as Noun;
  const next = phrases[at + 1];
  if (next?.kind === 'verb') return TEMPORAL.test(preposition) && isFiniteVerb(phrases, at + 1);
  const last = phrases[at - 1]?.kind;
  const isSubject = next?.kind === 'noun' && next.preposition === '';
  return (last === 'and' || last === 'comma') && isSubject && verbFollows(phrases, at + 1);
}

/** Looks over what belongs to a subject for a finite verb. */
export function verbFollows(phrases: readonly Phrase[], at: number): boolean {
  for (let next = at + 1; next < phrases.length; next++) {
    const phrase = phrases[next]!;
    if (phrase.kind === 'verb') return isFiniteVerb(phrases, next);
    const isListed = phrase.kind === 'noun' && (phrase.preposition !== '' || phrases[next - 1]?.kind === 'and');
    const goesOn = phrase.kind === 'and' && phrases[next + 1]?.kind === 'noun';
    if (!isListed && !goesOn) return false;
  }
  return false;
}

function isFiniteVerb(phrases: readonly Phrase[], at: number): boolean {
  const verb = phrases[at] as Verb;
  if (verb.form !== 'participle') return verb.form === 'finite';
  return !hasAgent(phrases, at + 1);
}

export function hasAgent(phrases: readonly Phrase[], at: number): boolean {
  const next = phrases[at];
  return next?.kind === 'noun' && next.preposition === 'by' && !/^\d/.test(next.words);
}

/** "The mill built by Anna was sold": a participle, because another verb follows. */
export function isReduced(phrases: readonly Phrase[], at: number): boolean {
  if (!hasAgent(phrases, at + 1)) return false;
  return phrases.slice(at + 1).some((phrase) => phrase.kind === 'verb' && phrase.form === 'finite');
}
