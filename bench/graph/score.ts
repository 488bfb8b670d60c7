import { CO_OCCURS, type Graph, type Relation } from '../../domain/content/graph.js';
import type { Label, Paragraph } from './labelled.js';

/** Counts of one or several paragraphs. */
export interface Score {
  /** Relations that the graph states; names that only co-occur are not among them. */
  stated: number;
  /** Stated relations that a label confirms. */
  right: number;
  /** Labelled pairs. */
  possible: number;
  /** Labelled pairs that a stated relation has found. */
  found: number;
}

export const precision = ({ right, stated }: Score): number => (stated === 0 ? 0 : right / stated);
export const recall = ({ found, possible }: Score): number => found / possible;

export function scoreOf({ labels }: Paragraph, graph: Graph): Score {
  const stated = statedRelations(graph);
  return {
    stated: stated.length,
    right: stated.filter((relation) => labels.some((label) => confirms(label, relation))).length,
    possible: labels.length,
    found: labels.filter((label) => stated.some((relation) => confirms(label, relation))).length,
  };
}

export const statedRelations = ({ relations }: Graph): Relation[] =>
  relations.filter(({ relation }) => relation !== CO_OCCURS);

function confirms(label: Label, { source, relation, target }: Relation): boolean {
  return (
    isOneOf(label.source, source) &&
    isOneOf(label.target, target) &&
    label.relation.some((part) => relation.includes(part))
  );
}

const isOneOf = (names: string[], name: string) => names.some((each) => normal(each) === normal(name));
/** Neither capital letters nor a plural make another name. */
const normal = (name: string) => name.toLowerCase().replace(/s$/, '');

export function sum(scores: readonly Score[]): Score {
  const total: Score = { stated: 0, right: 0, possible: 0, found: 0 };
  for (const score of scores) for (const key of Object.keys(total) as (keyof Score)[]) total[key] += score[key];
  return total;
}
