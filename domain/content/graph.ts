/** The knowledge graph of one item: its entities, their relations, and the sentences as evidence. */
import type { TextRange } from '../text-ranges.js';

/** Types of entities. `name` is a proper name whose type the text does not show. */
export const ENTITY_TYPES = ['person', 'organization', 'place', 'date', 'concept', 'name'] as const;
export type EntityType = (typeof ENTITY_TYPES)[number];

/** Characters of one item that its graph is extracted from. Text beyond them is searchable but not part of the graph. */
export const MAX_GRAPH_CHARACTERS = 1_000_000;

/** A chunk as its graph is read. */
export interface GraphText {
  chunk_id: string;
  text: string;
  /** The parts of the text that are code, which are not read. */
  code?: TextRange[];
}

/** A sentence and its chunk. */
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

/** The relation of two names in a sentence that states no other relation between them. */
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
