/** An entity where a sentence names it, and the noun phrase around it. */
import type { EntityType } from '../../domain/content/graph.js';

/** An entity where a sentence names it. */
export interface Mention {
  name: string;
  type: EntityType;
  /** Position of the first token, for the reading order. */
  from: number;
  /** True when its capital letter may only be that of the sentence; another mention must show that it is a name. */
  doubtful: boolean;
  /** The words in front of a name that are a person's title, in small letters: "mayor", "foreign minister", "mrs". */
  title?: string;
  /** True after "the". */
  hasArticle?: boolean;
}

/** What "her", "its" or "Acme's" refers to. */
export interface Possessor {
  pronoun: string;
  entity: Mention | null;
  /** What "their" refers to. */
  group?: readonly Mention[] | undefined;
}

/** A noun with the words that belong to it: "the longest river", "her colleague Raymond Gosling". At first, only its place is known. */
export class Noun {
  readonly kind = 'noun';
  /** In small letters; empty without one. */
  preposition = '';
  from: number;
  to: number;
  /** In small letters; empty without one. */
  determiner = '';
  possessor: Possessor | null = null;
  /** In small letters, when the phrase is a pronoun, else empty. */
  pronoun = '';
  /** The head of the phrase as an entity; null for a bare common noun. */
  entity: Mention | null = null;
  /** The common noun at the head or in front of the name, as a lemma; empty without one. */
  noun = '';
  /** The common words without articles: "longest river". */
  words = '';
  isName = false;
  isPlural = false;
  /** "left Shell, not BP" */
  isDenied = false;
  /** "the firm that Lena Koch left": no firm that was named before. */
  isDefined = false;
  /** What a plural refers to: "they", "the two physicists". */
  group?: readonly Mention[] | undefined;
  /** "French physicist" in "the French physicist Pierre Curie". */
  title: Mention | null = null;
  /** Names that belong to the phrase without being its head: "Basel" in "the Basel brigade". */
  others: Mention[] = [];

  constructor(from: number, to: number) {
    this.from = from;
    this.to = to;
  }
}
