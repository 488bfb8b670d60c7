/** The knowledge graph of one item: what it names, how these are related, and the sentences that say so. */

/** Kinds of entities; `name` is a proper name whose kind the text does not show. */
export const ENTITY_TYPES = ['person', 'organization', 'place', 'date', 'concept', 'name'] as const;
export type EntityType = (typeof ENTITY_TYPES)[number];

/** A sentence as evidence, and the chunk it stands in. */
export interface Evidence {
  chunk_id: string;
  sentence: string;
}

export interface Entity {
  /** As written where it is most complete; without article, title and possessive. */
  name: string;
  type: EntityType;
  mentions: Evidence[];
}

/** The relation of two names of which a sentence says nothing more than both. */
export const CO_OCCURS = 'co-occurs with';

export interface Relation {
  /** Names of two entities of the same graph. */
  source: string;
  target: string;
  /** The words between them ("was built by"), or `co-occurs with`. */
  relation: string;
  evidence: Evidence[];
}

export interface Graph {
  entities: Entity[];
  relations: Relation[];
}
