/** The clauses of a sentence while they are read, and what they have stated so far. */
import type { Mention, Noun } from './mention.js';
import type { Phrase, Verb } from './phrases.js';
import { COPULA } from './relation-words.js';

/** What a statement relates: a noun phrase or an owner, whose entity may be found later. */
export interface Argument {
  entity: Mention | null;
  /** What a plural refers to: "they", "the two physicists". */
  group?: readonly Mention[] | undefined;
}

/** Two arguments and the words that relate them. */
export interface Statement {
  source: Argument;
  relation: string;
  target: Argument;
}

/** A noun phrase and its place in its clause. */
export interface Role {
  noun: Noun;
  role: 'subject' | 'object' | 'predicate' | 'oblique';
  clause: number;
  /** In front of the subject: "Born to Joseph Sankara, he". */
  isEarly?: boolean;
}

export interface Reading {
  statements: Statement[];
  /** In reading order. */
  roles: Role[];
}

export class Clause {
  readonly id: number;
  /** Noun phrases before the verb that may be its subject. */
  candidates: Noun[] = [];
  /** Noun phrases with a preposition before the verb. */
  fronted: Noun[] = [];
  subjects: Noun[];
  verb: Verb | null = null;
  /** The subject has its role in the clause around it. */
  isRelative = false;
  /** It ends with the sentence, or where ", and" goes on with the clause around it. */
  isSubordinate = false;
  /** No fact, as all clauses in it: "rumours that Daimler bought Tesla", "neither Audi nor Porsche". */
  isUnstated = false;
  /** The object of a relative clause: "the bank that Anna founded". */
  antecedent: Noun | null = null;
  /** "for which", "where": how the verb relates to the antecedent; empty for an object. */
  antecedentBy = '';
  /** The noun phrase right after the verb, without a preposition. */
  object: Noun | null = null;
  /** The latest noun phrase that is no date, and the words that relate it. */
  named: { noun: Noun; relation: string } | null = null;
  /** "was organist", for what is said of it. */
  predicate = '';
  /** The words that relate the latest noun phrase, for lists and for prepositions after it. */
  relation = '';
  latest: Noun | null = null;
  /** The latest noun phrase, when the verb says nothing of it. */
  detached: Noun | null = null;

  constructor(id: number, subjects: Noun[] = []) {
    this.id = id;
    this.subjects = subjects;
  }
}

/** A phrase with one of these in front of the subject says where, when or with whom. */
const LEADS =
  /^(in|on|at|from|since|near|with|during|by|until|under|before|after|around|between|through|outside|within|for|over|to|through|across)$/;

export class ClauseReading {
  readonly statements: Statement[] = [];
  readonly roles: Role[] = [];
  /** Clauses that were interrupted by the present one, the innermost last. */
  readonly outer: Clause[] = [];
  /** Relations of a participle before its subject: "Founded in 1998, Brightline". */
  early: { relation: string; target: Noun }[] = [];
  clause = new Clause(0);
  private clauses = 1;
  /** False from a condition on: "if Acme buys" states nothing. */
  private stated = true;

  readonly phrases: readonly Phrase[];

  constructor(phrases: readonly Phrase[]) {
    this.phrases = phrases;
  }

  startOver(): void {
    this.begin().isUnstated = false;
    this.outer.length = 0;
    this.early = [];
    this.stated = true;
  }

  /** Begins a clause after the present one. */
  begin(subjects: Noun[] = []): Clause {
    const { isUnstated } = this.clause;
    this.clause = new Clause(this.clauses++, subjects);
    this.clause.isUnstated = isUnstated;
    return this.clause;
  }

  /** Begins a clause inside the present one. */
  embed(subjects: Noun[] = []): Clause {
    this.outer.push(this.clause);
    return this.begin(subjects);
  }

  /** Returns to the clause around the present one. */
  resume(): void {
    this.clause = this.outer.pop()!;
  }

  /** True when a clause before this one still waits for its verb: "The photo that Anna took shows". */
  outerWaits(): boolean {
    return this.outer.at(-1)?.verb === null;
  }

  /** "Toni Morrison was a novelist who won": what is said of the novelist is said of her. */
  describedBy(noun: Noun): Noun[] {
    const { verb, subjects, latest } = this.clause;
    const isPredicate = verb !== null && COPULA.test(verb.lemma) && noun === latest && noun.preposition === '';
    return isPredicate && !noun.isName && subjects.length > 0 ? subjects : [noun];
  }

  /** What follows is not stated as a fact. */
  suppose(): void {
    this.stated = false;
  }

  state(source: Argument, relation: string, target: Argument): void {
    // "its main town" means nothing in another text.
    const isOwned = 'possessor' in source && (source as Noun).possessor?.pronoun && !(source as Noun).isName;
    if (this.stated && !this.clause.isUnstated && source !== target && !isOwned)
      this.statements.push({ source, relation, target });
  }

  stateFronted(subject: Noun, words: string): void {
    for (const front of this.clause.fronted)
      if (LEADS.test(front.preposition) && front.entity?.type !== 'concept')
        this.state(subject, `${words} ${front.preposition}`, front);
  }

  note(noun: Noun, role: Role['role']): void {
    this.roles.push({ noun, role, clause: this.clause.id });
  }

  setVerb(verb: Verb): void {
    this.clause.verb = verb;
    this.clause.relation = '';
    this.clause.predicate = '';
    this.clause.latest = null;
    this.clause.object = null;
    this.clause.named = null;
    this.enter();
  }

  /** The clause has its verb and subjects: what stood in front of them belongs to them. */
  enter(): void {
    const { clause } = this;
    const { words, lemma } = clause.verb!;
    const isCopula = COPULA.test(lemma);
    for (const subject of clause.subjects) {
      if (/\b(born|died|married|educated|buried)$/.test(words) && subject.entity?.type === 'name')
        subject.entity.type = 'person';
      if (!isCopula) this.stateFronted(subject, words);
      if (clause.antecedent) this.state(subject, `${words} ${clause.antecedentBy}`.trimEnd(), clause.antecedent);
      for (const { relation, target } of this.early) this.state(subject, relation, target);
    }
    if (clause.subjects.length > 0) {
      for (const { target } of this.early) for (const role of this.roles) if (role.noun === target) role.isEarly = true;
      this.early = [];
      if (!isCopula) clause.fronted = [];
    }
    clause.antecedent = null;
  }
}
