/** What pronouns and phrases such as "the company" refer to. A reference with two possible meanings has none. */
import type { EntityType } from '../../domain/content/graph.js';
import type { Description } from './appositions.js';
import type { Role } from './clause.js';
import type { Mention } from './noun-phrases.js';
import type { Noun } from './phrases.js';
import { type Gender, genderOf } from './vocabulary.js';

/** What only organisations have: "its chief executive" is not that of a factory. */
const OWNED_BY_ORGANIZATIONS =
  /^(executive|chairman|chairwoman|chair|president|ceo|cfo|cto|director|founder|cofounder|co-founder|customer|shareholder|headquarters|subsidiary|employee|board|share|revenue|profit|sale|spokesman|spokeswoman|owner|secretary)$/;
/** Nouns for a company that was named before, whatever it makes. */
const COMPANY =
  /^(company|firm|business|corporation|start-up|startup|manufacturer|maker|retailer|airline|carrier|supplier|producer|insurer|\p{L}+maker)$/u;
const LOCATIVE = /^(in|at|near|through|into|along|across|on|from|to)$/;
const SENTENCES_BACK = 3;

/** What a sentence was about. */
interface Participant {
  /** Null for a bare noun, which a pronoun may refer to as well. */
  entity: Mention | null;
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
  /** The names that a common noun has described: "river" is "Aldora". */
  private readonly described = new Map<string, Map<string, Mention>>();

  private describe(noun: string, name: Mention): void {
    const names = this.described.get(noun) ?? new Map<string, Mention>();
    names.set(this.idOf(name), name);
    this.described.set(noun, names);
  }

  /** Finds what the noun phrases of a sentence refer to, in reading order, and sets their entities. */
  readSentence(nouns: readonly Noun[], roles: readonly Role[], descriptions: readonly Description[]): void {
    const roleAt = new Map(roles.map((role) => [role.noun.from, role]));
    const describing = new Set(descriptions.filter(({ by, name }) => by !== name).map(({ by }) => by.from));
    this.current = [];
    for (const noun of nouns) {
      const { role, clause } = roleAt.get(noun.from) ?? { role: 'oblique', clause: -1 };
      const { possessor } = noun;
      if (possessor && !possessor.entity) possessor.entity = this.ofPronoun(possessor.pronoun, clause, true, noun.noun);
      if (describing.has(noun.from)) continue;
      if (roleAt.has(noun.from)) noun.entity = this.resolve(noun, clause, role) ?? noun.entity;
      this.add(noun, role, clause);
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

  private add(noun: Noun, role: Role['role'], clause: number): void {
    const { entity, possessor } = noun;
    if (entity?.type === 'date' || (!entity && noun.noun === '' && noun.pronoun === '')) return;
    if (possessor?.entity)
      this.current.push({ entity: possessor.entity, role: 'oblique', clause, isPlural: false, isPlace: false });
    // "each table" and "no airport" are nothing that "it" could be.
    const isPlural = noun.isPlural || /^(each|every|no|any|all)$/.test(noun.determiner);
    // "its largest tributary" is not what "it" means later.
    const isOwned = noun.possessor !== null && !noun.isName;
    const isPlace = role === 'oblique' && LOCATIVE.test(noun.preposition);
    this.current.push({ entity: isOwned ? null : entity, role, clause, isPlural, isPlace });
    if (!entity) return;
    if (noun.isName) this.learnName(entity);
    const id = this.idOf(entity);
    if (entity.type !== 'name') this.types.set(id, entity.type);
    if (role === 'subject') this.subjectCounts.set(id, this.timesSubject(entity) + 1);
    if (!noun.isName) return;
    const words = entity.name.split(' ');
    if (entity.type !== 'person' && words.length > 1)
      for (const word of words) this.describe(word.toLowerCase(), entity);
    const gender = entity.type === 'person' ? genderOf(words[0]!) : null;
    if (gender) this.genders.set(id, gender);
  }

  private resolve(noun: Noun, clause: number, role: Role['role']): Mention | null {
    if (noun.pronoun !== '') return this.ofPronoun(noun.pronoun, clause, role === 'subject', '');
    if (noun.determiner !== 'the' || noun.isPlural || noun.isName || !isUnspecific(noun)) return null;
    const described = this.described.get(noun.noun);
    if (described?.size === 1) return [...described.values()][0]!;
    if (described && described.size > 1) return null;
    if (!COMPANY.test(noun.noun)) return null;
    return this.find({ fits: ({ entity }) => this.isOrganization(entity), mayBeBare: false }, clause, true);
  }

  private ofPronoun(pronoun: string, clause: number, mayBeSubject: boolean, owned: string): Mention | null {
    if (/^(she|her|he|his|him)$/.test(pronoun)) {
      const gender: Gender = /^(she|her)$/.test(pronoun) ? 'female' : 'male';
      const entity = this.find(
        { fits: (participant) => this.isPerson(participant, gender), mayBeBare: false },
        clause,
        mayBeSubject,
      );
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
    const fits = ({ entity, isPlural }: Participant) => !isPlural && entity?.type !== 'person';
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
