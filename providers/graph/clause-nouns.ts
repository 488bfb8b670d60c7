/** What a noun phrase is in its clause, and what the clause states of it. */

import type { Argument, ClauseReading } from './clause.js';
import { startsClause, TEMPORAL, verbFollows } from './clause-boundaries.js';
import type { Noun } from './mention.js';
import type { Mark, Phrase, Verb } from './phrases.js';
import { COPULA, relationOf } from './relation-words.js';
import { isRole } from './vocabulary.js';

/** "calls him the inventor", "elected her president": two objects, of which the second says what the first is. */
const CALLING = /^(call|name|consider|elect|declare|appoint|dub|crown|label|nickname|term)$/;

const STANDS = /^(lie|stand|sit|live|hang|be|come|rise|run)$/;

export function readNoun(reading: ClauseReading, noun: Noun, at: number): void {
  if (repeatsVerb(reading, noun, at)) {
    const { verb } = reading.clause;
    reading.begin([noun]);
    reading.note(noun, 'subject');
    reading.setVerb(verb!);
    return;
  }
  if (reading.clause.verb && startsClause(reading.phrases, at)) {
    if (reading.phrases[at - 1]?.kind !== 'comma') reading.outer.length = 0;
    // "left after Ada was born, and moved": after a comma the main clause goes on.
    if (TEMPORAL.test(noun.preposition)) reading.embed().isSubordinate = true;
    else {
      const clause = reading.begin();
      // "Neither Audi nor Porsche will move, but BMW will"
      if (reading.phrases[at - 1]?.kind === 'and' && (reading.phrases[at - 1] as Mark).word === 'but')
        clause.isUnstated = false;
    }
  }
  if (isWhere(reading, noun, at)) return;
  if (noun.isDenied) {
    reading.note(noun, 'oblique');
    reading.clause.detached = noun;
    return;
  }
  if (reading.clause.verb) readObject(reading, noun, at);
  else readBeforeVerb(reading, noun, at);
}

/** "Anna lives in Oslo and Tom in Bergen": the verb is left out before the second place. */
function repeatsVerb({ clause, phrases }: ClauseReading, noun: Noun, at: number): boolean {
  const [before, last, next] = [phrases[at - 2], phrases[at - 1], phrases[at + 1]];
  if (!clause.verb || last?.kind !== 'and' || before?.kind !== 'noun' || next?.kind !== 'noun') return false;
  // "Amazon bought Whole Foods in 2017 and MGM in 2021": another object.
  if (clause.object?.isName) return false;
  const [type, subject] = [noun.entity?.type, clause.subjects[0]?.entity?.type];
  const isPerson = noun.possessor !== null && isRole(noun.noun);
  const isLikeSubject =
    noun.preposition === '' && (noun.isName ? type === subject && type !== before.entity?.type : isPerson);
  return isLikeSubject && before.preposition !== '' && before.preposition === next.preposition;
}

function readBeforeVerb(reading: ClauseReading, noun: Noun, at: number): void {
  const { clause, phrases } = reading;
  const last = phrases[at - 1];
  if (noun.preposition !== '') {
    const head =
      last?.kind === 'noun' && (clause.candidates.includes(last) || clause.fronted.includes(last)) ? last : null;
    if (head && clause.candidates.includes(head)) describe(reading, head, noun);
    if (!head || noun.entity?.type === 'date') clause.fronted.push(noun);
    else reading.note(noun, 'oblique');
    return;
  }
  // "Kenji Sato, 54, has run"
  if (last?.kind === 'comma' && noun.noun === '' && noun.pronoun === '' && !noun.entity) return;
  const continues = last?.kind === 'and' || (last?.kind === 'comma' && clause.candidates.at(-1)?.isName && noun.isName);
  // "between Peru and Bolivia": the list belongs to the preposition.
  const before = phrases[at - 2];
  const listed = last?.kind === 'and' && before?.kind === 'noun' && before.preposition !== '' ? before : null;
  if (listed && clause.candidates.length === 0 && !verbFollows(phrases, at))
    clause.fronted.push({ ...noun, preposition: listed.preposition });
  else if (listed) reading.note(noun, 'oblique');
  else if (continues && clause.candidates.length > 0) {
    // "its capital and largest city"
    if (noun.determiner === '' && !noun.isName) noun.possessor ??= clause.candidates.at(-1)!.possessor;
    clause.candidates.push(noun);
  } else clause.candidates = [noun];
}

/** "at King's College, Cambridge": the place of a name, and not the next of a list. */
function isWhere(reading: ClauseReading, noun: Noun, at: number): boolean {
  const { phrases } = reading;
  const [head, comma] = [phrases[at - 2], phrases[at - 1]];
  if (comma?.kind !== 'comma' || head?.kind !== 'noun' || !head.isName || !head.entity) return false;
  if (noun.preposition !== '' || noun.determiner !== '' || !noun.isName || noun.entity?.type !== 'place') return false;
  if (!/^(place|organization)$/.test(head.entity.type) || isListed(phrases, at)) return false;
  reading.note(noun, 'oblique');
  reading.state(head, 'is in', noun);
  return true;
}

/** Whether "and" follows, maybe after more names. */
function isListed(phrases: readonly Phrase[], start: number): boolean {
  let at = start;
  while (phrases[at + 1]?.kind === 'comma' && phrases[at + 2]?.kind === 'noun') at += 2;
  const next = phrases[at + 1]?.kind === 'comma' ? at + 2 : at + 1;
  return phrases[next]?.kind === 'and' && phrases[next + 1]?.kind === 'noun';
}

/** "Ruth Meyer of Kepler Bank", "the Charité in Berlin" */
function describe(reading: ClauseReading, head: Noun, noun: Noun): void {
  const { entity, possessor, words } = head;
  if (!noun.isName) return;
  // "Tesla's factory in Berlin"
  if (!entity && possessor?.entity && /^(in|at|near)$/.test(noun.preposition))
    reading.state(possessor, `${words} ${noun.preposition}`, noun);
  if (!entity || !head.isName) return;
  const isMember =
    (entity.type === 'person' && /^(of|at|from)$/.test(noun.preposition)) ||
    (entity.type === 'name' && noun.preposition === 'of' && entity.name.includes(' '));
  const isPlaced = entity.type === 'organization' && noun.preposition === 'in';
  if (isMember || isPlaced) reading.state(head, `is ${noun.preposition}`, noun);
}

function readObject(reading: ClauseReading, noun: Noun, at: number): void {
  const { clause, phrases } = reading;
  const verb = clause.verb!;
  const last = phrases[at - 1];
  const relation = relationOf(phrases, clause, at);
  const isCopula = COPULA.test(verb.lemma);
  const isOblique = noun.preposition !== '';
  if (CALLING.test(verb.lemma) && !isOblique && last?.kind === 'noun' && last.preposition === '') {
    reading.note(noun, 'predicate');
    clause.detached = noun;
    return;
  }
  reading.note(noun, isOblique ? 'oblique' : isCopula ? 'predicate' : 'object');
  // "North of the city lies Lake Orrin"
  if (clause.subjects.length === 0 && clause.fronted.length > 0 && STANDS.test(verb.lemma) && !isOblique) {
    clause.subjects = [noun];
    reading.enter();
    return;
  }
  // "From 1703 he was organist": what it says of 1703 needs the predicate.
  if (isCopula && !isOblique && noun.words !== '') {
    clause.predicate = `${verb.words} ${noun.words}`;
    for (const subject of clause.subjects) reading.stateFronted(subject, clause.predicate);
    clause.fronted = [];
  }
  clause.latest = noun;
  if (relation === null) {
    clause.detached = noun;
    // "a warehouse of Tessler in Basel": the warehouse is there.
    if (last?.kind === 'noun' && last.preposition !== 'of') describe(reading, last, noun);
    return;
  }
  clause.relation = relation;
  if (!isOblique && !isCopula && last?.kind === 'verb') clause.object = noun;
  if (noun.entity?.type !== 'date') clause.named = { noun, relation };
  stateObject(reading, verb, relation, noun);
}

function stateObject(reading: ClauseReading, verb: Verb, relation: string, noun: Noun): void {
  const { subjects } = reading.clause;
  const isEarly = verb.form === 'participle' || verb.form === 'gerund';
  if (isEarly && subjects.length === 0 && reading.outer.length === 0) reading.early.push({ relation, target: noun });
  for (const subject of subjects) {
    if (!stateOwner(reading, subject, verb, noun)) stateOf(reading, subject, relation, noun);
    // "licensed Tesla's patents"
    if (noun.possessor && !noun.isName) reading.state(subject, `${relation} ${noun.words} of`, noun.possessor);
  }
}

/** "Kahlo's paintings hang in Mexico": of things without a name, their owner is known. */
function stateOf(reading: ClauseReading, subject: Noun, relation: string, noun: Noun): void {
  const { possessor, entity, words } = subject;
  if (possessor?.entity && !entity && noun.isName) reading.state(possessor, `${words} ${relation}`, noun);
  else reading.state(subject, relation, noun);
}

/** "Its largest shareholder is the Wallner family": the object is what the subject of the sentence describes. */
function stateOwner(reading: ClauseReading, subject: Noun, verb: Verb, noun: Noun): boolean {
  if (!/^(be|include)$/.test(verb.lemma) || subject.isName || subject.noun === '' || !noun.entity) return false;
  if (!noun.isName && noun.others.length === 0) return false;
  if (noun.preposition !== '' && reading.clause.relation !== verb.words) return false;
  const owner = ownerOf(reading, subject);
  const role = verb.lemma === 'include' ? subject.noun : subject.words;
  if (owner && noun.preposition === '') reading.state(noun, `is ${role} of`, owner);
  return owner !== null;
}

function ownerOf({ phrases }: ClauseReading, subject: Noun): Argument | null {
  if (subject.possessor) return subject.possessor;
  const next = phrases[phrases.indexOf(subject) + 1];
  return next?.kind === 'noun' && next.preposition === 'of' ? next : null;
}
