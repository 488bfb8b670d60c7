/** A clause while it is read, and what is read from it. */
import type { Mention } from './mention.js';
import type { Noun, Verb } from './phrases.js';

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
}

export interface Reading {
  statements: Statement[];
  /** In reading order. */
  roles: Role[];
}

export interface Clause {
  id: number;
  /** Noun phrases before the verb that may be its subject. */
  candidates: Noun[];
  /** Noun phrases with a preposition before the verb. */
  fronted: Noun[];
  subjects: Noun[];
  verb: Verb | null;
  /** The subject has its role in the clause around it. */
  isRelative: boolean;
  /** The object of a relative clause: "the bank that Anna founded". */
  antecedent: Noun | null;
  /** "was organist", for what is said of it. */
  predicate: string;
  /** The words that relate the latest noun phrase, for lists and for prepositions after it. */
  relation: string;
  latest: Noun | null;
  /** The latest noun phrase, when the verb says nothing of it. */
  detached: Noun | null;
}

export const newClause = (id: number): Clause => ({
  id,
  candidates: [],
  fronted: [],
  subjects: [],
  verb: null,
  isRelative: false,
  antecedent: null,
  predicate: '',
  relation: '',
  latest: null,
  detached: null,
});
