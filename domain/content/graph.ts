/** The knowledge graph of one item: entities, their relations, and the sentences as evidence. */

/** Types of entities. `name` is a proper name of unknown type. */
export const ENTITY_TYPES = ['person', 'organization', 'place', 'date', 'concept', 'name'] as const;
export type EntityType = (typeof ENTITY_TYPES)[number];

/** A sentence, and the chunk that contains it. */
export interface Evidence {
  chunk_id: string;
  sentence: string;
}

export interface Entity {
  /** The most complete form in the text, without article, title and possessive. */
  name: string;
  type: EntityType;
  mentions: Evidence[];
}

/** The relation of two names that occur in one sentence without a stated relation. */
export const CO_OCCURS = 'co-occurs with';

export interface Relation {
  /** Name of an entity of the same graph. */
  source: string;
  /** Name of another entity of the same graph. */
  target: string;
  /** The words between the names ("was built by"), or `CO_OCCURS`. */
  relation: string;
  evidence: Evidence[];
}

export interface Graph {
  entities: Entity[];
  relations: Relation[];
}
