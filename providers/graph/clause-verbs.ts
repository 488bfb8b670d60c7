/** Which clause a verb belongs to, and who its subject is. */

import type { ClauseReading } from './clause.js';
import { hasAgent, isReduced, TEMPORAL } from './clause-boundaries.js';
import type { Noun } from './mention.js';
import type { Phrase, Verb } from './phrases.js';

/** "asked Sundberg to negotiate": the object is who acts. */
const CAUSING =
  /^(ask|tell|order|allow|invite|force|require|persuade|want|help|enable|urge|instruct|encourage|advise|permit|request|commission|hire|teach)$/;

/** Basic forms that are past forms too. */
const BASE_AND_PAST =
  /^(become|bet|bid|broadcast|burst|cast|come|cost|cut|hit|hurt|let|put|quit|read|run|set|shut|split|spread)$/;

export function readVerb(reading: ClauseReading, verb: Verb, at: number): void {
  const last = reading.phrases[at - 1];
  if (verb.form === 'infinitive') readInfinitive(reading, verb, last);
  else if (verb.form === 'gerund') readGerund(reading, verb, last);
  else if (!reading.clause.verb) readFirstVerb(reading, verb, at);
  else readNextVerb(reading, verb, at);
}

function readFirstVerb(reading: ClauseReading, verb: Verb, at: number): void {
  const { clause, phrases } = reading;
  const last = phrases[at - 1];
  const isParticiple = verb.form === 'participle';
  if (isParticiple && clause.candidates.length > 0 && last?.kind === 'noun' && isReduced(phrases, at)) {
    readReduced(reading, verb, last);
    return;
  }
  // "Beloved, published in 1987, was inspired by"
  const inserted = phrases[at - 2];
  if (isParticiple && last?.kind === 'comma' && inserted?.kind === 'noun' && inserted === clause.candidates.at(-1)) {
    const goesOn = phrases.findIndex((phrase, index) => index > at && phrase.kind === 'comma');
    const next = phrases[goesOn + 1];
    if (goesOn !== -1 && next?.kind === 'verb' && next.form !== 'gerund') {
      readReduced(reading, verb, inserted);
      return;
    }
  }
  if (isAddress(reading, verb, at)) {
    for (const noun of clause.candidates.splice(0)) reading.note(noun, 'oblique');
    reading.setVerb(verb);
    return;
  }
  const isEarly = isParticiple && clause.candidates.length === 0 && clause.fronted.length === 0;
  clause.subjects = clause.candidates;
  const front = clause.fronted.at(-1);
  if (clause.subjects.length === 0 && front && TEMPORAL.test(front.preposition))
    clause.subjects = [clause.fronted.pop()!];
  // "With the money Acme has bought": two phrases, because the verb needs a subject.
  if (
    clause.subjects.length === 0 &&
    front &&
    front === last &&
    front.isName &&
    front.noun !== '' &&
    verb.form !== 'gerund'
  ) {
    clause.fronted.pop();
    clause.subjects = [{ ...front, preposition: '', determiner: '', noun: '', words: '' }];
  }
  if (!clause.isRelative) for (const subject of clause.subjects) reading.note(subject, 'subject');
  for (const fronted of clause.fronted) reading.note(fronted, 'oblique');
  if (clause.subjects.length === 0 && last?.kind === 'comma') return;
  reading.setVerb(isEarly && last?.kind !== 'relative' ? passive(verb) : verb);
}

/** "Hi Laura, please send", "Dear Mr Collins, thank you": who is spoken to does nothing here. */
function isAddress({ clause, phrases }: ClauseReading, verb: Verb, at: number): boolean {
  const [name, other] = clause.candidates;
  const isOne = name !== undefined && other === undefined && name.isName && name.entity?.type === 'person';
  const isBase = verb.form === 'finite' && verb.words === verb.lemma && !BASE_AND_PAST.test(verb.words);
  return isOne && isBase && phrases[at - 1]?.kind === 'comma' && phrases[at - 2] === name;
}

function readNextVerb(reading: ClauseReading, verb: Verb, at: number): void {
  const last = reading.phrases[at - 1];
  const hasOuter = reading.outer.length > 0;
  const isEmbedded = hasOuter && !reading.clause.isSubordinate;
  if (last?.kind === 'and') {
    // "which makes cups, and sold it": after a comma the main clause goes on.
    // "kept Anna from joining KPMG and hired Tom": it is no other gerund.
    const isAfterGerund = reading.clause.verb!.form === 'gerund' && verb.form !== 'gerund';
    if (hasOuter && (reading.phrases[at - 2]?.kind === 'comma' || isAfterGerund)) reading.resume();
  } else if (last?.kind === 'comma' && isEmbedded) reading.resume();
  else if (last?.kind === 'comma' && isAside(reading, verb, at)) {
    readReduced(reading, verb, reading.phrases[at - 2] as Noun);
    return;
  } else if (last?.kind === 'noun' && verb.form === 'participle' && !reading.outerWaits()) {
    readReduced(reading, verb, last);
    return;
  } else if (isEmbedded) reading.resume();
  else if (last?.kind === 'noun' && last.preposition === '') makeSubject(reading, last);
  goOn(reading, verb);
}

/** "sailed on the Malizia, skippered by Boris": a participle after a comma, and not the next verb of a list. */
function isAside({ clause, phrases }: ClauseReading, verb: Verb, at: number): boolean {
  const isPassive = /^(was|were|is|are|has been|have been|had been)\b/.test(clause.verb!.words);
  return verb.form === 'participle' && !isPassive && phrases[at - 2]?.kind === 'noun' && hasAgent(phrases, at + 1);
}

/** "The mill built by Anna was sold": a participle with its noun is a clause of its own. */
function readReduced(reading: ClauseReading, verb: Verb, noun: Noun): void {
  reading.embed(reading.describedBy(noun));
  reading.setVerb(passive(verb));
}

const isFiniteVerb = (phrase: Phrase) =>
  phrase.kind === 'verb' && phrase.form !== 'infinitive' && phrase.form !== 'gerund';

const passive = (verb: Verb): Verb => ({ ...verb, words: `was ${verb.words}` });

/** Another verb of the same subjects, or the first verb of a clause that was interrupted. */
function goOn(reading: ClauseReading, verb: Verb): void {
  const { clause } = reading;
  if (!clause.verb) {
    clause.subjects = clause.candidates;
    for (const subject of clause.subjects) reading.note(subject, 'subject');
  }
  reading.setVerb(verb);
}

/** "She hopes Acme opens": what seemed to be the object is the subject of the next verb. */
function makeSubject(reading: ClauseReading, noun: Noun): void {
  const wrong = reading.statements.findIndex(({ target }) => target === noun);
  if (wrong !== -1) reading.statements.splice(wrong);
  reading.begin([noun]);
}

function readInfinitive(reading: ClauseReading, verb: Verb, last: Phrase | undefined): void {
  const { clause } = reading;
  if (clause.verb && last?.kind === 'noun' && last.preposition === '' && CAUSING.test(clause.verb.lemma)) {
    reading.begin([last]);
    reading.setVerb({ ...verb, words: verb.words.replace(/^to /, '') });
  } else if (clause.verb && clause.subjects.length > 0) {
    // "had no plans to leave Osaka"
    const object = last?.kind === 'noun' && last.words !== '' ? ` ${last.words}` : '';
    const said = clause.relation || clause.verb.words;
    // "met in Berlin to discuss": the preposition goes with its name.
    const end = last?.kind === 'noun' && last.preposition !== '' && object === '' ? ` ${last.preposition}` : '';
    const base = end !== '' && said.endsWith(end) ? said.slice(0, -end.length) : said;
    reading.setVerb({ ...verb, words: `${base}${object} ${verb.words}` });
  } else if (!clause.verb && clause.candidates.length > 0) {
    const isTask =
      last?.kind === 'noun' && last.isName && last.preposition === '' && !reading.phrases.some(isFiniteVerb);
    // "Action: Priya to write to Hetzner"
    if (isTask) goOn(reading, verb);
    // "The plan to close the mine failed": nobody closes it here.
    else reading.embed().verb = verb;
  }
}

/** An object that can do something: a person or an organisation. */
const isActor = ({ preposition, entity }: Noun) =>
  preposition === '' && entity !== null && /^(person|organization)$/.test(entity.type);

function readGerund(reading: ClauseReading, verb: Verb, last: Phrase | undefined): void {
  const { clause } = reading;
  if (verb.preposition !== '' || last?.kind === 'comma' || last?.kind === 'and' || last === undefined) {
    // "thanked Omar Sy for joining Oxfam": the object is who acts. "accused of", "kept from": maybe nobody did.
    if (clause.verb && last?.kind === 'noun' && /^(for|of|from)$/.test(verb.preposition) && isActor(last)) {
      reading.embed(verb.preposition === 'for' ? [last] : []);
      reading.setVerb(verb);
      return;
    }
    const words = /^(without|instead of)$/.test(verb.preposition) ? `${verb.preposition} ${verb.words}` : verb.words;
    if (clause.verb) reading.setVerb({ ...verb, words });
    else if (clause.candidates.length === 0) reading.begin().verb = { ...verb, words };
  } else if (last.kind === 'noun') {
    reading.embed([last]);
    reading.setVerb(verb);
  } else if (clause.verb) reading.setVerb(verb);
}
