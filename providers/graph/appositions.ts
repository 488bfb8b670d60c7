/** Names with a description beside them: "Nordic Grippers, a Swedish maker", "her cousin, Leila Khoury", "the city of Lyon". */

import type { EntityType } from '../../domain/content/graph.js';
import type { Statement } from './clause.js';
import type { Noun } from './mention.js';
import type { Phrase } from './phrases.js';
import { isOrganizationNoun, isRole } from './vocabulary.js';

/** A name and what a description says of it. */
export interface Description {
  name: Noun;
  /** "maker", as a lemma, for later mentions such as "the maker". */
  noun: string;
  statements: Statement[];
  /** The phrase that describes. */
  by: Noun;
}

const SETTLEMENT =
  /^(city|town|village|port|county|state|province|island|district|kingdom|republic|canton|municipality)$/;
/** Prepositions that bind a description to a name: "head of", "professor at". */
const BINDING = /^(of|at|for|in|from|by|behind)$/;

/** Takes the descriptions out of a sentence, so that each name stands in it once. */
export function takeAppositions(phrases: readonly Phrase[]): { phrases: Phrase[]; descriptions: Description[] } {
  const descriptions: Description[] = [];
  const kept: Phrase[] = [];
  for (let at = 0; at < phrases.length; at++) {
    const phrase = phrases[at]!;
    const found = phrase.kind === 'noun' ? (settlement(phrases, at) ?? apposition(phrases, at)) : null;
    if (found) {
      descriptions.push(found.description);
      kept.push({ ...found.description.name, preposition: (phrase as Noun).preposition });
      at = found.to;
    } else {
      if (phrase.kind === 'noun' && phrase.isName && phrase.noun !== '' && !standsBeforeSubject(phrases, at))
        descriptions.push(describe(phrase, phrase, []));
      kept.push(phrase);
    }
  }
  return { phrases: kept, descriptions };
}

/** "Under her leadership Acme bought": two phrases, because the verb needs a subject. */
function standsBeforeSubject(phrases: readonly Phrase[], at: number): boolean {
  const [before, noun, next] = [phrases[at - 1], phrases[at] as Noun, phrases[at + 1]];
  const begins = before === undefined || before.kind === 'comma' || before.kind === 'and';
  return begins && noun.preposition !== '' && next?.kind === 'verb' && !isRole(noun.noun);
}

/** "the city of Port Vellin" */
function settlement(phrases: readonly Phrase[], at: number): { description: Description; to: number } | null {
  const [noun, name] = [phrases[at] as Noun, phrases[at + 1]];
  if (!SETTLEMENT.test(noun.noun) || noun.isName || name?.kind !== 'noun' || name.preposition !== 'of') return null;
  if (!name.isName || !name.entity) return null;
  if (name.entity.type === 'name') name.entity.type = 'place';
  return { description: { name, by: noun, noun: noun.noun, statements: [] }, to: at + 1 };
}

function apposition(phrases: readonly Phrase[], at: number): { description: Description; to: number } | null {
  const first = phrases[at] as Noun;
  return isNamed(first) ? descriptionAfter(phrases, at) : isCommon(first) ? descriptionBefore(phrases, at) : null;
}

/** "Koji Sato, the president of Toyota," */
function descriptionAfter(phrases: readonly Phrase[], at: number): { description: Description; to: number } | null {
  const [name, comma, second] = phrases.slice(at, at + 3) as [Noun, Phrase?, Phrase?];
  if (comma?.kind !== 'comma' || second?.kind !== 'noun' || second.preposition !== '' || !isCommon(second)) return null;
  const { complements, to } = complementsOf(phrases, at + 3);
  const isRoleOfNobody = complements.length > 0 && isRole(second.noun);
  const isDescription = second.determiner !== '' || second.possessor !== null || isRoleOfNobody;
  const isOffice = isRoleOfNobody && second.determiner === '';
  if (second.isPlural || !isDescription || !(isOffice || endsHere(phrases, to))) return null;
  return { description: describe(name, second, complements), to: closing(phrases, to) };
}

/** "her cousin, Leila Khoury", "the president of Toyota, Koji Sato" */
function descriptionBefore(phrases: readonly Phrase[], at: number): { description: Description; to: number } | null {
  const noun = phrases[at] as Noun;
  if ((noun.determiner === '' && !noun.possessor) || noun.isPlural) return null;
  const { complements, to: commaAt } = complementsOf(phrases, at + 1);
  const [comma, name] = phrases.slice(commaAt, commaAt + 2);
  if (comma?.kind !== 'comma' || name?.kind !== 'noun' || name.preposition !== '' || !isNamed(name)) return null;
  // "In the second half, Acme" and "the bridge in Lyon, France" describe nothing.
  const isDistant =
    complements.length > 0 || /^(in|at|on|during|after|before|since|under|according to)$/.test(noun.preposition);
  if (isDistant && !isRole(noun.noun) && noun.noun !== 'capital') return null;
  if (!endsHere(phrases, commaAt + 2)) return null;
  return { description: describe(name, noun, complements), to: closing(phrases, commaAt + 2) };
}

const isCommon = (phrase: Noun) => !phrase.isName && phrase.noun !== '';
const isNamed = (phrase: Noun) => phrase.isName && phrase.entity !== null;

/** The names that belong to a description: "of Northbank and Vault". */
function complementsOf(phrases: readonly Phrase[], start: number): { complements: Noun[]; to: number } {
  const complements: Noun[] = [];
  let to = start;
  for (let next = phrases[to]; next?.kind === 'noun' && BINDING.test(next.preposition); next = phrases[to]) {
    complements.push(next);
    to++;
  }
  return { complements, to };
}

/** A description ends with the sentence, or with a comma that no list goes on after. */
function endsHere(phrases: readonly Phrase[], at: number): boolean {
  const [mark, next] = [phrases[at], phrases[at + 1]];
  if (!mark || mark.kind === 'break' || mark.kind === 'relative') return true;
  // "and X" would go on a list, but "and sold" does not.
  if (mark.kind === 'and') return next?.kind === 'verb';
  if (mark.kind === 'verb') return false;
  if (mark.kind === 'noun') return mark.preposition !== '';
  if (mark.kind !== 'comma') return true;
  return next?.kind !== 'and' || phrases[at + 2]?.kind !== 'noun' || phrases[at + 3]?.kind === 'verb';
}

/** The comma after a description goes with it, when the clause goes on after it. */
function closing(phrases: readonly Phrase[], at: number): number {
  const [mark, next] = [phrases[at], phrases[at + 1]];
  return mark?.kind === 'comma' && next?.kind !== 'and' && next?.kind !== 'noun' ? at : at - 1;
}

function typeBy(noun: string): EntityType {
  if (isOrganizationNoun(noun)) return 'organization';
  return isRole(noun) ? 'person' : 'name';
}

/** "her sisters Charlotte and Anne": each is a sister. */
function singular({ words, noun }: Noun): string {
  const last = words.lastIndexOf(' ') + 1;
  return words.slice(last).toLowerCase() === noun ? words : words.slice(0, last) + noun;
}

function describe(name: Noun, by: Noun, complements: readonly Noun[]): Description {
  const statements: Statement[] = [];
  // A description shows that the capital letter is that of a name.
  if (name.entity) name.entity.doubtful = false;
  if (name.entity?.type === 'name') name.entity.type = typeBy(by.noun);
  const concept = by === name ? by.title : by.entity;
  if (concept) statements.push({ source: name, relation: 'is', target: { entity: concept } });
  const words = singular(by);
  if (by.possessor) statements.push({ source: name, relation: `is ${words} of`, target: by.possessor });
  for (const target of complements)
    statements.push({ source: name, relation: `is ${words} ${target.preposition}`, target });
  return { name, by, noun: by.noun, statements };
}
