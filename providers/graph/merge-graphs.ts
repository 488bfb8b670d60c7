import type { Entity, EntityType, Evidence, Graph, Relation } from '../../domain/content/graph.js';
import { MAX_ENTITIES, MAX_EVIDENCE, MAX_MENTIONS, MAX_RELATIONS } from './bounds.js';

interface Merged extends Entity {
  /** How many of the graphs have it. */
  count: number;
}

/** @returns one graph of the parts of an item. Names that differ only in case are one entity, with the first name and type */
export function mergeGraphs(graphs: readonly Graph[]): Graph {
  const merged = new Map<string, Merged>();
  for (const { name, type, mentions } of graphs.flatMap(({ entities }) => entities)) {
    const known = merged.get(keyOf(name));
    if (!known) merged.set(keyOf(name), { name, type, mentions: mentions.slice(0, MAX_MENTIONS), count: 1 });
    else {
      known.count += 1;
      known.type = moreCertain(known.type, type);
      add(known.mentions, mentions, MAX_MENTIONS);
    }
  }
  const selected = [...merged.values()].sort((a, b) => b.count - a.count).slice(0, MAX_ENTITIES);
  const names = new Map(selected.map(({ name }) => [keyOf(name), name]));
  const relations = new Map<string, Relation>();
  for (const { relation, evidence, ...ends } of graphs.flatMap((graph) => graph.relations)) {
    const [source, target] = [names.get(keyOf(ends.source)), names.get(keyOf(ends.target))];
    if (source === undefined || target === undefined || source === target) continue;
    const key = JSON.stringify([source, relation, target]);
    const known = relations.get(key);
    if (known) add(known.evidence, evidence, MAX_EVIDENCE);
    else relations.set(key, { source, target, relation, evidence: evidence.slice(0, MAX_EVIDENCE) });
  }
  return {
    entities: selected.map(({ count: _, ...entity }) => entity),
    relations: [...relations.values()].slice(0, MAX_RELATIONS),
  };
}

const keyOf = (name: string) => name.toLowerCase();
const moreCertain = (first: EntityType, other: EntityType) => (first === 'name' ? other : first);

function add(list: Evidence[], more: readonly Evidence[], limit: number): void {
  list.push(...more.slice(0, limit - list.length));
}
