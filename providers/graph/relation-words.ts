/** The words that relate the subjects of a clause to a noun phrase after its verb. */

import type { Clause } from './clause.js';
import type { Noun } from './mention.js';
import type { Phrase } from './phrases.js';

/** These describe the noun before them, not what is done. */
const OF_THE_NOUN = /^(of|by|about|between|against|among|than|like)$/;
/** What follows a name after these belongs to the name. */
const OF_A_NAME = /^(after|of|than|like)$/;
/** These say nothing that is done with or to a thing. */
const UNRELATED = /^(including|according to|despite|unlike|like|except|besides|than|such as)$/;
export const COPULA = /^(be|become|remain)$/;

/** @returns null when the noun phrase belongs to a name before it and not to the verb */
export function relationOf(phrases: readonly Phrase[], clause: Clause, at: number): string | null {
  const noun = phrases[at] as Noun;
  const verb = clause.verb!.words;
  const last = phrases[at - 1];
  if (UNRELATED.test(noun.preposition)) return null;
  if (noun.preposition !== '' && OF_THE_NOUN.test(noun.preposition) && last === clause.detached) return null;
  // "Sara Conti, formerly of SAP"
  if (noun.preposition === 'of' && last?.kind === 'comma') return null;
  if (noun.preposition === '') {
    const isListed = (last?.kind === 'and' || last?.kind === 'comma') && clause.latest !== null;
    // "acquired Xilinx in 2022, a maker of chips": a description that came late.
    if (last?.kind === 'comma' && noun.determiner !== '' && !noun.isName && clause.latest?.entity) return null;
    // "between Sweden and Denmark", where the verb says nothing of Sweden
    const before = phrases[at - 2];
    if (isListed && noun.isName && before === clause.detached) return null;
    // "between the army of William and an English army"
    if (
      isListed &&
      /^an?$/.test(noun.determiner) &&
      before?.kind === 'noun' &&
      before.isName &&
      before.preposition === 'of'
    )
      return null;
    if (isListed && isGapped(phrases, clause, at)) return verb;
    // "created Linux in 1991 and Git in 2005"
    const isAfterDate = clause.latest?.entity?.type === 'date' && noun.entity?.type !== 'date';
    if (isListed && isAfterDate && clause.named) return clause.named.relation;
    if (isListed && clause.relation !== '') return clause.relation;
    return noun.determiner === 'no' ? `${verb} no` : verb;
  }
  const { preposition } = noun;
  const head = last?.kind === 'noun' ? last : null;
  const isOfNoun = OF_THE_NOUN.test(preposition);
  const own = clause.predicate === '' ? verb : clause.predicate;
  if (!head) return `${own} ${preposition}`;
  // "on 14 January between Sweden and Denmark"
  if (head.entity?.type === 'date')
    return isOfNoun && !/^(by|between|against)$/.test(preposition) ? null : `${own} ${preposition}`;
  // "named after Sintra in Portugal"
  const isFar = head.isName && OF_A_NAME.test(head.preposition) && noun.entity?.type !== 'date';
  if (isFar) return null;
  if (head.isName || head.pronoun !== '') return isOfNoun && preposition !== 'by' ? null : `${own} ${preposition}`;
  // "with a grant from the Wellcome Trust"
  const isNested = head.preposition !== '' && head.words !== '' && noun.entity?.type !== 'date';
  // "is a car from": the predicate has the words of its noun already.
  if (!isOfNoun && !isNested) return clause.predicate === '' ? withObject(own, head, noun) : `${own} ${preposition}`;
  const base = clause.relation === '' ? verb : clause.relation;
  return `${base} ${head.words} ${preposition}`;
}

/** "bought Fitbit for $2 billion and Looker for $3 billion": another object, with another of what follows the first. */
function isGapped(phrases: readonly Phrase[], clause: Clause, at: number): boolean {
  const [noun, before] = [phrases[at] as Noun, phrases[at - 2]];
  if (!clause.object || before?.kind !== 'noun' || before.preposition === '') return false;
  if (noun.entity?.type === before.entity?.type || clause.named?.noun.entity?.type === noun.entity?.type) return false;
  for (let next = at + 1; ; next++) {
    const phrase = phrases[next];
    if (phrase?.kind !== 'noun' || phrase.preposition === '') return false;
    if (phrase.preposition === before.preposition) return true;
  }
}

/** "added support for": an object that is no entity is part of what is said. */
function withObject(verb: string, head: Noun, { preposition, entity }: Noun): string {
  // "sold its plant in Leipzig": the plant is there.
  const isPlace = head.possessor !== null && /^(in|at|near)$/.test(preposition);
  const isSaid = (isPlace || /^(for|with|to|on|against|into|from|over)$/.test(preposition)) && entity?.type !== 'date';
  const isObject = head.preposition === '' && head.entity === null && /^\p{L}/u.test(head.words);
  return isSaid && isObject ? `${verb} ${head.words} ${preposition}` : `${verb} ${preposition}`;
}
