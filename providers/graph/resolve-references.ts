/** What pronouns and phrases such as "the company" refer to. A reference with two possible meanings has none. */
import type { Description } from './appositions.js';
import type { Role } from './clause.js';
import { COMPANY, KnownNames } from './known-names.js';
import type { Mention, Noun, Possessor } from './mention.js';
import { type Participant, Participants } from './participants.js';
import { type Gender, genderOf, isRole } from './vocabulary.js';

/** What only organisations have: "its chief executive" is not that of a factory. */
const OWNED_BY_ORGANIZATIONS =
  /^(executive|chairman|chairwoman|chair|president|ceo|cfo|cto|director|founder|cofounder|co-founder|customer|shareholder|headquarters|subsidiary|employee|board|share|revenue|profit|sale|spokesman|spokeswoman|owner|secretary)$/;
const STAFF = /^(accountant|lawyer|engineer|technician|manager|agent|analyst|representative)$/;
const LOCATIVE = /^(in|at|near|through|into|along|across|on|from|to)$/;
const PLACE = /^(city|town|village|country|nation)$/;
/** "physicists", "two physicists" */
const COUNTED = /^(?:(two|three|four|five) )?\p{Ll}+$/u;
const COUNTS = ['', '', 'two', 'three', 'four', 'five'];

export class Discourse {
  private readonly names = new KnownNames();
  private readonly participants = new Participants(this.names);

  learnAlias(alias: Mention, name: Mention): void {
    this.names.learnAlias(alias, name);
  }

  /** Finds what the noun phrases of a sentence refer to, in reading order, and sets their entities. */
  readSentence(
    nouns: readonly Noun[],
    roles: readonly Role[],
    descriptions: readonly Description[],
    lists: readonly Noun[][],
  ): void {
    const roleAt = new Map(roles.map((role) => [role.noun.from, role]));
    const describing = new Set(descriptions.filter(({ by, name }) => by !== name).map(({ by }) => by.from));
    const listAt = new Map(lists.map((list) => [list.at(-1)!.from, list]));
    for (const noun of nouns) {
      const { role, clause, isEarly } = roleAt.get(noun.from) ?? { role: 'oblique', clause: -1 };
      const { possessor } = noun;
      if (possessor?.pronoun === 'their') this.resolveTheir(possessor, clause, noun.noun);
      else if (possessor && !possessor.entity)
        possessor.entity = this.ofPronoun(possessor.pronoun, clause, true, noun.noun);
      if (describing.has(noun.from)) continue;
      if (roleAt.has(noun.from)) {
        noun.group = this.resolveGroup(noun, clause, role);
        noun.entity = this.resolve(noun, clause, role) ?? noun.entity;
      }
      this.add(noun, role, clause, isEarly);
      this.addGroup(noun.group ?? joined(listAt.get(noun.from), roleAt), role, clause);
    }
    this.describePredicates(roles);
    for (const { noun, name } of descriptions) if (noun !== '' && name.entity) this.names.describe(noun, name.entity);
    this.participants.endSentence();
  }

  /** After "Hamburg is the second-largest city", "the city" is Hamburg. */
  private describePredicates(roles: readonly Role[]): void {
    for (const { noun, role, clause } of roles) {
      if (role !== 'predicate' || noun.isName || noun.isPlural || noun.noun === '' || noun.preposition !== '') continue;
      const subjects = roles.filter((other) => other.clause === clause && other.role === 'subject');
      const [subject] = subjects;
      if (subjects.length === 1 && subject?.noun.entity) this.names.describe(noun.noun, subject.noun.entity);
    }
  }

  private addGroup(group: readonly Mention[] | undefined, role: Role['role'], clause: number): void {
    if (group && group.length > 1) this.participants.add({ group, role, clause, isPlural: true });
  }

  private add(noun: Noun, role: Role['role'], clause: number, isEarly = false): void {
    const { entity, possessor, isName } = noun;
    // "the Norwegians", "the British"
    const isPeople = isName && !entity && noun.determiner === 'the';
    if (entity?.type === 'date' || (!entity && noun.noun === '' && noun.pronoun === '' && !isPeople)) return;
    if (possessor?.entity) this.participants.add({ entity: possessor.entity, role: 'oblique', clause });
    // "each table" and "no airport" are nothing that "it" could be.
    const isPlural = noun.isPlural || isPeople || /^(each|every|no|any|all)$/.test(noun.determiner);
    // "its largest tributary" is not what "it" means later.
    const isOwned = possessor !== null && !isName;
    const isPlace = role === 'oblique' && LOCATIVE.test(noun.preposition);
    if (!noun.group)
      this.participants.add({ entity: isOwned ? null : entity, role, clause, isPlural, isPlace, isEarly });
    this.introduce(noun, role);
    if (entity) this.names.learn(entity, { isName, isSubject: role === 'subject' });
  }

  /** After "a battery plant", "the plant" is this; after "a plant", it has no name. */
  private introduce({ noun, entity, isName, isPlural, possessor, determiner }: Noun, role: Role['role']): void {
    if (isName || isPlural || noun === '' || role === 'predicate' || determiner === 'the') return;
    if (entity && !possessor && !COMPANY.test(noun) && !isRole(noun)) this.names.describe(noun, entity);
    else if (!entity && /^(a|an|another)$/.test(determiner)) this.names.describe(noun, null);
  }

  private resolveGroup(noun: Noun, clause: number, role: Role['role']): readonly Mention[] | undefined {
    if (/^(they|them)$/.test(noun.pronoun)) return this.participants.findPlural(clause, role === 'subject');
    const pointing = /^(the|both|these)$/.test(noun.determiner) && noun.isPlural && !noun.isName;
    const size = COUNTED.exec(noun.words);
    if (!pointing || !size) return undefined;
    const fits = this.names.kindOf(noun.noun);
    const count = noun.determiner === 'both' ? 2 : size[1] ? COUNTS.indexOf(size[1]) : -1;
    const group = fits ? this.participants.latestGroup(fits) : undefined;
    return count === -1 || count === group?.length ? group : undefined;
  }

  /** "their accountant" is that of a company, which "its" would be too. */
  private resolveTheir(possessor: Possessor, clause: number, owned: string): void {
    const isStaff = OWNED_BY_ORGANIZATIONS.test(owned) || STAFF.test(owned);
    const group = this.participants.findPlural(clause, true);
    if (!isStaff || group?.every((mention) => mention.type !== 'concept')) possessor.group = group;
    else possessor.entity = this.ofOrganization(clause, true);
  }

  private resolve(noun: Noun, clause: number, role: Role['role']): Mention | null {
    if (noun.pronoun !== '') return this.ofPronoun(noun.pronoun, clause, role === 'subject', '');
    if (noun.determiner !== 'the' || noun.isPlural || noun.isName || !isUnspecific(noun)) return null;
    const described = this.names.describedBy(noun.noun);
    if (described.length > 0) return described.length === 1 ? described[0]! : null;
    if (PLACE.test(noun.noun)) {
      const fits = ({ entity }: Participant) => this.names.isPlaceOf(entity, noun.noun);
      return this.participants.find(fits, clause, true);
    }
    if (!COMPANY.test(noun.noun)) return null;
    const company = this.ofOrganization(clause, role === 'subject');
    if (company) return company;
    const mayBeOne = ({ entity }: Participant) =>
      entity !== null && this.names.typeOf(entity) === 'name' && !entity.name.includes(' ');
    return this.participants.find(mayBeOne, clause, true);
  }

  private ofPronoun(pronoun: string, clause: number, mayBeSubject: boolean, owned: string): Mention | null {
    if (/^(she|her|he|his|him)$/.test(pronoun))
      return this.ofPerson(
        /^(she|her)$/.test(pronoun) ? 'female' : 'male',
        clause,
        mayBeSubject,
        /^s?he$/.test(pronoun),
      );
    if (pronoun === 'whose') return this.participants.last?.entity ?? null;
    if (!/^(it|its)$/.test(pronoun)) return null;
    if (pronoun === 'its' && OWNED_BY_ORGANIZATIONS.test(owned)) return this.ofOrganization(clause, mayBeSubject);
    const fits = ({ entity, isPlural }: Participant) =>
      !isPlural && (!entity || this.names.typeOf(entity) !== 'person');
    return this.participants.find(fits, clause, mayBeSubject, true);
  }

  private ofOrganization(clause: number, mayBeSubject: boolean): Mention | null {
    const fits = ({ entity }: Participant) => this.names.isOrganization(entity);
    return this.participants.find(fits, clause, mayBeSubject);
  }

  private ofPerson(gender: Gender, clause: number, mayBeSubject: boolean, isSubject: boolean): Mention | null {
    const fits = ({ entity, role, isEarly }: Participant) =>
      !(isEarly && isSubject) && this.names.isPerson(entity, gender, role === 'subject');
    const entity = this.participants.find(fits, clause, mayBeSubject);
    if (!entity || this.isDoubtful(entity, gender)) return null;
    this.names.learnGender(entity, gender);
    if (entity.type === 'name') entity.type = 'person';
    return entity;
  }

  /** A name without a known gender, when somebody whose gender is known was the subject as well. */
  private isDoubtful(entity: Mention, gender: Gender): boolean {
    if (this.names.shownGender(entity) || genderOf(entity.name.split(' ')[0]!)) return false;
    if (this.participants.isSubjectHere(entity)) return false;
    const id = this.names.idOf(entity);
    return this.participants.someSubject(
      (other) => this.names.idOf(other) !== id && this.names.shownGender(other) === gender,
    );
  }
}

/** The names of a list, when the sentence says the same of all. */
function joined(list: readonly Noun[] | undefined, roleAt: ReadonlyMap<number, Role>): Mention[] | undefined {
  const roles = list?.map(({ from }) => roleAt.get(from));
  const isSubject = (role: Role | undefined) => role?.role === 'subject';
  const isOne = roles?.every((each) => each?.clause === roles[0]?.clause && isSubject(each) === isSubject(roles[0]));
  return isOne ? list!.flatMap(({ entity }) => entity ?? []) : undefined;
}

/** "the company", "the Danish company", "the Munich-based company" */
const isUnspecific = ({ words, noun, isDefined }: Noun) =>
  !isDefined && (words === noun || /^\p{Lu}[\p{L}-]+ \p{Ll}+$/u.test(words));
