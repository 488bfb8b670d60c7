/** What pronouns and phrases such as "the company" refer to. A reference with two possible meanings has none. */
import type { EntityType } from '../../domain/content/graph.js';
import type { Description } from './appositions.js';
import type { Role } from './clause.js';
import type { Mention, Possessor } from './noun-phrases.js';
import type { Noun } from './phrases.js';
import { type Gender, genderOf, genderOfTitle, isCountry, isRegion, isRole } from './vocabulary.js';

/** What only organisations have: "its chief executive" is not that of a factory. */
const OWNED_BY_ORGANIZATIONS =
  /^(executive|chairman|chairwoman|chair|president|ceo|cfo|cto|director|founder|cofounder|co-founder|customer|shareholder|headquarters|subsidiary|employee|board|share|revenue|profit|sale|spokesman|spokeswoman|owner|secretary)$/;
/** Nouns for a company that was named before, whatever it makes. */
const COMPANY =
  /^(company|firm|business|corporation|start-up|startup|manufacturer|maker|retailer|airline|carrier|supplier|producer|insurer|\p{L}+maker)$/u;
const STAFF = /^(accountant|lawyer|engineer|technician|manager|agent|analyst|representative)$/;
const LOCATIVE = /^(in|at|near|through|into|along|across|on|from|to)$/;
const PLACE = /^(city|town|village|country|nation)$/;
const OTHER_PLACE =
  /\b(river|lake|sea|ocean|bay|mountains?|mount|alps|park|street|road|bridge|station|airport|valley|forest|desert|gulf|peninsula|canal|fjord|square|coast)\b/i;
/** "physicists", "two physicists" */
const COUNTED = /^(?:(two|three|four|five) )?\p{Ll}+$/u;
const COUNTS = ['', '', 'two', 'three', 'four', 'five'];
const SENTENCES_BACK = 3;

/** What a sentence was about. */
interface Participant {
  /** Null for a bare noun, which a pronoun may refer to as well. */
  entity: Mention | null;
  /** Several names that are joined, which a plural may refer to. */
  group: readonly Mention[] | null;
  role: Role['role'];
  clause: number;
  isPlural: boolean;
  /** It is where something happens. */
  isPlace: boolean;
}

interface Reference {
  fits(participant: Participant): boolean;
  /** True when a participant that is no entity may be meant too. */
  mayBeBare: boolean;
}

export class Discourse {
  /** The latest sentence first. */
  private sentences: Participant[][] = [];
  private current: Participant[] = [];
  private readonly subjectCounts = new Map<string, number>();
  private readonly types = new Map<string, EntityType>();
  private readonly genders = new Map<string, Gender>();
  /** The full name by its first and its last word; empty when several names have it. */
  private readonly fullNames = new Map<string, string>();
  /** What a common noun has described: "river" is "Aldora". Null is a thing without a name: "a river". */
  private readonly described = new Map<string, Map<string, Mention | null>>();

  private describe(noun: string, name: Mention | null): void {
    const names = this.described.get(noun) ?? new Map<string, Mention | null>();
    names.set(name ? this.idOf(name) : '', name);
    this.described.set(noun, names);
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
    this.current = [];
    for (const noun of nouns) {
      const { role, clause } = roleAt.get(noun.from) ?? { role: 'oblique', clause: -1 };
      const { possessor } = noun;
      if (possessor?.pronoun === 'their') this.resolveTheir(possessor, clause, noun.noun);
      else if (possessor && !possessor.entity)
        possessor.entity = this.ofPronoun(possessor.pronoun, clause, true, noun.noun);
      if (describing.has(noun.from)) continue;
      if (roleAt.has(noun.from)) {
        noun.group = this.resolveGroup(noun, clause, role);
        noun.entity = this.resolve(noun, clause, role) ?? noun.entity;
      }
      this.add(noun, role, clause);
      this.addGroup(noun.group ?? this.joined(listAt.get(noun.from), roleAt), role, clause);
    }
    this.describePredicates(roles);
    for (const { noun, name } of descriptions) if (noun !== '' && name.entity) this.describe(noun, name.entity);
    this.sentences.unshift(this.current);
    this.sentences.length = Math.min(this.sentences.length, SENTENCES_BACK);
    this.current = [];
  }

  /** After "Hamburg is the second-largest city", "the city" is Hamburg. */
  private describePredicates(roles: readonly Role[]): void {
    for (const { noun, role, clause } of roles) {
      if (role !== 'predicate' || noun.isName || noun.isPlural || noun.noun === '' || noun.preposition !== '') continue;
      const subjects = roles.filter((other) => other.clause === clause && other.role === 'subject');
      const [subject] = subjects;
      if (subjects.length === 1 && subject?.noun.entity) this.describe(noun.noun, subject.noun.entity);
    }
  }

  /** "Levi" is "Dana Levi", so that one entity does not seem to be two. */
  private idOf({ name }: Mention): string {
    return this.fullNames.get(name) || name;
  }

  /** "Harlow Textiles Ltd (the "Supplier")": from here on, the short name is the long one. */
  learnAlias(alias: Mention, name: Mention): void {
    this.fullNames.set(alias.name, this.idOf(name));
    this.described.set(alias.name.toLowerCase(), new Map([[this.idOf(name), name]]));
  }

  private learnName({ name }: Mention): void {
    const words = name.split(' ');
    if (words.length < 2) {
      // A later "OpenSearch Dashboards" is not what "OpenSearch" means.
      if (!this.fullNames.has(name)) this.fullNames.set(name, '');
      return;
    }
    for (const word of [words[0]!, words.at(-1)!]) {
      const known = this.fullNames.get(word);
      this.fullNames.set(word, known === undefined || known === name ? name : '');
    }
  }

  /** The names of a list, when the sentence says the same of all. */
  private joined(list: readonly Noun[] | undefined, roleAt: ReadonlyMap<number, Role>): Mention[] | undefined {
    const roles = list?.map(({ from }) => roleAt.get(from));
    const isSubject = (role: Role | undefined) => role?.role === 'subject';
    const isOne = roles?.every((each) => each?.clause === roles[0]?.clause && isSubject(each) === isSubject(roles[0]));
    return isOne ? list!.flatMap(({ entity }) => entity ?? []) : undefined;
  }

  private addGroup(group: readonly Mention[] | undefined, role: Role['role'], clause: number): void {
    if (group && group.length > 1)
      this.current.push({ entity: null, group, role, clause, isPlural: true, isPlace: false });
  }

  private add(noun: Noun, role: Role['role'], clause: number): void {
    const { entity, possessor } = noun;
    // "the Norwegians", "the British"
    const isPeople = noun.isName && !entity && noun.determiner === 'the';
    if (entity?.type === 'date' || (!entity && noun.noun === '' && noun.pronoun === '' && !isPeople)) return;
    if (possessor?.entity)
      this.current.push({
        entity: possessor.entity,
        group: null,
        role: 'oblique',
        clause,
        isPlural: false,
        isPlace: false,
      });
    // "each table" and "no airport" are nothing that "it" could be.
    const isPlural = noun.isPlural || isPeople || /^(each|every|no|any|all)$/.test(noun.determiner);
    // "its largest tributary" is not what "it" means later.
    const isOwned = noun.possessor !== null && !noun.isName;
    const isPlace = role === 'oblique' && LOCATIVE.test(noun.preposition);
    if (!noun.group)
      this.current.push({ entity: isOwned ? null : entity, group: null, role, clause, isPlural, isPlace });
    this.introduce(noun, role);
    if (!entity) return;
    if (noun.isName) this.learnName(entity);
    const id = this.idOf(entity);
    if (entity.type !== 'name') this.types.set(id, entity.type);
    if (role === 'subject') this.subjectCounts.set(id, this.timesSubject(entity) + 1);
    if (!noun.isName) return;
    const words = entity.name.split(' ');
    if (entity.type !== 'person' && words.length > 1)
      for (const word of words) this.describe(word.toLowerCase(), entity);
    const gender = genderOfTitle(entity.title) ?? (entity.type === 'person' ? genderOf(words[0]!) : null);
    if (gender) this.genders.set(id, gender);
  }

  /** After "a battery plant", "the plant" is this; after "a plant", it has no name. */
  private introduce({ noun, entity, isName, isPlural, possessor, determiner }: Noun, role: Role['role']): void {
    if (isName || isPlural || noun === '' || role === 'predicate' || determiner === 'the') return;
    if (entity && !possessor && !COMPANY.test(noun) && !isRole(noun)) this.describe(noun, entity);
    else if (!entity && /^(a|an|another)$/.test(determiner)) this.describe(noun, null);
  }

  private resolveGroup(noun: Noun, clause: number, role: Role['role']): readonly Mention[] | undefined {
    if (/^(they|them)$/.test(noun.pronoun)) return this.ofPlural(clause, role === 'subject');
    const pointing = /^(the|both|these)$/.test(noun.determiner) && noun.isPlural && !noun.isName;
    const size = COUNTED.exec(noun.words);
    if (!pointing || !size) return undefined;
    const fits = this.kindOf(noun.noun);
    const count = noun.determiner === 'both' ? 2 : size[1] ? COUNTS.indexOf(size[1]) : -1;
    if (!fits) return undefined;
    for (const sentence of [this.current, ...this.sentences])
      for (const { group } of sentence.toReversed())
        if (group?.every(fits)) return count === -1 || count === group.length ? group : undefined;
    return undefined;
  }

  /** What a plural noun such as "physicists" or "companies" can be. */
  private kindOf(noun: string): ((mention: Mention) => boolean) | null {
    if (COMPANY.test(noun)) return (mention) => /^(organization|name)$/.test(this.typeOf(mention));
    if (/^(country|nation|state|city|town|village|island)$/.test(noun))
      return (mention) => this.typeOf(mention) === 'place';
    if (!isRole(noun) && !/^(man|woman)$/.test(noun)) return null;
    return (mention) =>
      this.typeOf(mention) === 'person' || (this.typeOf(mention) === 'name' && this.idOf(mention).includes(' '));
  }

  /** "their accountant" is that of a company, which "its" would be too. */
  private resolveTheir(possessor: Possessor, clause: number, owned: string): void {
    const isStaff = OWNED_BY_ORGANIZATIONS.test(owned) || STAFF.test(owned);
    const group = this.ofPlural(clause, true);
    if (!isStaff || group?.every((mention) => mention.type !== 'concept')) possessor.group = group;
    else
      possessor.entity = this.find(
        { fits: ({ entity }) => this.isOrganization(entity), mayBeBare: false },
        clause,
        true,
      );
  }

  /** "they", "them", "their": names that are joined, or a plural; the subject before the others. */
  private ofPlural(clause: number, mayBeSubject: boolean): readonly Mention[] | undefined {
    const before = this.current.filter(({ clause: own, role }) => mayBeSubject || own !== clause || role !== 'subject');
    for (const sentence of [before, ...this.sentences]) {
      const plurals = sentence.filter(({ isPlural }) => isPlural);
      const subjects = plurals.filter(({ role }) => role === 'subject');
      // Who acts is not what was acted on: "films" do not show themselves.
      const others = mayBeSubject ? plurals.filter(({ group }) => group !== null) : plurals;
      const [meant, other] = subjects.length > 0 ? subjects : others;
      if (!meant) continue;
      if (other) return undefined;
      return meant.group ?? (meant.entity ? [meant.entity] : undefined);
    }
    return undefined;
  }

  private resolve(noun: Noun, clause: number, role: Role['role']): Mention | null {
    if (noun.pronoun !== '') return this.ofPronoun(noun.pronoun, clause, role === 'subject', '');
    if (noun.determiner !== 'the' || noun.isPlural || noun.isName || !isUnspecific(noun)) return null;
    const described = this.described.get(noun.noun);
    if (described?.size === 1) return [...described.values()][0]!;
    if (described && described.size > 1) return null;
    if (PLACE.test(noun.noun))
      return this.find({ fits: (each) => this.isPlaceOf(each, noun.noun), mayBeBare: false }, clause, true);
    if (!COMPANY.test(noun.noun)) return null;
    const company = this.find({ fits: ({ entity }) => this.isOrganization(entity), mayBeBare: false }, clause, true);
    if (company) return company;
    const mayBeOne = ({ entity }: Participant) =>
      entity !== null && this.typeOf(entity) === 'name' && !entity.name.includes(' ');
    return this.find({ fits: mayBeOne, mayBeBare: false }, clause, true);
  }

  private ofPronoun(pronoun: string, clause: number, mayBeSubject: boolean, owned: string): Mention | null {
    if (/^(she|her|he|his|him)$/.test(pronoun)) {
      const gender: Gender = /^(she|her)$/.test(pronoun) ? 'female' : 'male';
      const fits = (participant: Participant) => this.isPerson(participant, gender);
      const entity = this.find({ fits, mayBeBare: false }, clause, mayBeSubject);
      if (entity && this.isDoubtful(entity, gender)) return null;
      if (entity) {
        this.genders.set(this.idOf(entity), gender);
        if (entity.type === 'name') entity.type = 'person';
      }
      return entity;
    }
    if (pronoun === 'whose') return this.current.at(-1)?.entity ?? null;
    if (!/^(it|its)$/.test(pronoun)) return null;
    if (pronoun === 'its' && OWNED_BY_ORGANIZATIONS.test(owned))
      return this.find({ fits: ({ entity }) => this.isOrganization(entity), mayBeBare: false }, clause, mayBeSubject);
    const fits = ({ entity, isPlural }: Participant) => !isPlural && (!entity || this.typeOf(entity) !== 'person');
    return this.find({ fits, mayBeBare: true }, clause, mayBeSubject);
  }

  /** Looks in the clauses before this one, then in the sentences before, for the only participant that fits. */
  private find(reference: Reference, clause: number, mayBeSubject: boolean): Mention | null {
    // An object is not the subject of its own clause, or it would be "himself".
    const before = this.current.filter(({ clause: own, role }) => mayBeSubject || own !== clause || role !== 'subject');
    for (const sentence of [before, ...this.sentences]) {
      const fitting = sentence.filter(reference.fits);
      if (fitting.some(({ entity }) => entity !== null)) return this.choose(fitting);
      if (reference.mayBeBare && fitting.some(({ role }) => role === 'subject')) return null;
    }
    return null;
  }

  private choose(fitting: readonly Participant[]): Mention | null {
    const names = new Map(fitting.flatMap(({ entity }) => (entity ? [[this.idOf(entity), entity] as const] : [])));
    const rivals = fitting.filter(
      ({ entity, role, isPlace }) => entity?.type !== 'place' && !isPlace && role !== 'predicate',
    );
    const subjects = fitting.filter(({ role }) => role === 'subject');
    const isAlone =
      names.size === 1 && !fitting.some(({ entity, role }) => !entity && (role === 'subject' || role === 'object'));
    if (isAlone) return [...names.values()][0]!;
    const subjectNames = new Set(subjects.map(({ entity }) => entity && this.idOf(entity)));
    if (subjectNames.size !== 1) return null;
    const subject = subjects[0]!.entity;
    if (!subject) return null;
    const others = rivals.filter(
      ({ entity, role }) =>
        (!entity || this.idOf(entity) !== this.idOf(subject)) && (entity !== null || role === 'object'),
    );
    if (others.every(({ entity, role }) => (entity === null ? false : role === 'oblique' && entity.type === 'concept')))
      return subject;
    // What the text has been about so far is meant, and not what it mentions beside it.
    const isTopic =
      this.timesSubject(subject) >= 2 &&
      others.every(({ entity }) => entity === null || this.timesSubject(entity) === 0);
    return isTopic ? subject : null;
  }

  private timesSubject(mention: Mention): number {
    return this.subjectCounts.get(this.idOf(mention)) ?? 0;
  }

  /** The type that another mention of the same name may have shown. */
  private typeOf(mention: Mention): EntityType {
    return this.types.get(this.idOf(mention)) ?? mention.type;
  }

  /** Of the names whose type is unknown, those that act: a name of several words may be a person. */
  private isOrganization(entity: Mention | null): boolean {
    if (!entity) return false;
    const type = this.typeOf(entity);
    return (
      type === 'organization' || (type === 'name' && !this.idOf(entity).includes(' ') && this.timesSubject(entity) > 0)
    );
  }

  /** A name without a known gender, when somebody whose gender is known was the subject as well. */
  private isDoubtful(entity: Mention, gender: Gender): boolean {
    const id = this.idOf(entity);
    if (this.genders.has(id) || genderOf(entity.name.split(' ')[0]!)) return false;
    if (this.current.some(({ entity: other, role }) => other === entity && role === 'subject')) return false;
    return [this.current, ...this.sentences].some((sentence) =>
      sentence.some(
        ({ entity: other, role }) =>
          other && role === 'subject' && this.idOf(other) !== id && this.genders.get(this.idOf(other)) === gender,
      ),
    );
  }

  /** A place of the same kind: "the city" is no country and no river. */
  private isPlaceOf({ entity }: Participant, noun: string): boolean {
    if (!entity || this.typeOf(entity) !== 'place') return false;
    const name = this.idOf(entity);
    return /^(country|nation)$/.test(noun) ? isCountry(name) : !isRegion(name) && !OTHER_PLACE.test(name);
  }

  private isPerson({ entity, role }: Participant, gender: Gender): boolean {
    if (!entity) return false;
    const known = this.genders.get(this.idOf(entity)) ?? genderOf(entity.name.split(' ')[0]!);
    if (known) return known === gender && /^(person|name)$/.test(this.typeOf(entity));
    return (
      this.typeOf(entity) === 'person' ||
      (entity.type === 'name' && role === 'subject' && /^\p{L}+[ -]\p{L}/u.test(entity.name))
    );
  }
}

/** "the company", "the Danish company" */
const isUnspecific = ({ words, noun }: Noun) => words === noun || /^\p{Lu}\p{L}+ \p{Ll}+$/u.test(words);
