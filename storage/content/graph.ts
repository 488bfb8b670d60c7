import type { Collection } from 'mongodb';
import { CO_OCCURS, type Graph } from '../../domain/content/graph.js';
import type { ItemRef } from '../../domain/content/workflow-contract.js';
import type { ItemRecord } from './items.js';

export interface EntityRecord {
  _id: string;
  item: string;
  version: number;
  database_id: string;
  source_id: string;
  name: string;
  /** Folded for look-ups across items. */
  key: string;
  type: string;
  mentions: { chunk_id: string; sentence: string }[];
}

export interface RelationRecord {
  _id: string;
  item: string;
  version: number;
  database_id: string;
  source_id: string;
  source: string;
  target: string;
  relation: string;
  evidence: { chunk_id: string; sentence: string }[];
}

export type GraphStore = ReturnType<typeof createGraphStore>;

/** The knowledge graph: entities and relations of each item, with the sentences they were read in. */
export function createGraphStore({
  entities,
  relations,
}: {
  entities: Collection<EntityRecord>;
  relations: Collection<RelationRecord>;
}) {
  return {
    /** Replaces what earlier runs and earlier versions of the item have left. */
    async put(item: ItemRecord, graph: Graph): Promise<void> {
      const owner = { item: item._id, version: item.version, database_id: item.database_id, source_id: item.id };
      const replaced = { item: item._id, version: { $lte: item.version } };
      await Promise.all([entities.deleteMany(replaced), relations.deleteMany(replaced)]);
      const nodes: EntityRecord[] = graph.entities.map((entity, n) => ({
        _id: `${item._id}/${item.version}/${n}`,
        ...owner,
        ...entity,
        key: entityKey(entity.name),
      }));
      const edges: RelationRecord[] = graph.relations.map((relation, n) => ({
        _id: `${item._id}/${item.version}/${n}`,
        ...owner,
        ...relation,
      }));
      if (nodes.length > 0) await entities.insertMany(nodes, { ordered: false });
      if (edges.length > 0) await relations.insertMany(edges, { ordered: false });
    },

    /** Takes away what this version and earlier ones have left. */
    async removeUpTo({ item, version }: ItemRef): Promise<void> {
      const left = { item, version: { $lte: version } };
      await Promise.all([entities.deleteMany(left), relations.deleteMany(left)]);
    },

    /** Relations of these items, or of a whole database, by id. @param after the last id of the page before */
    listRelations(
      databaseId: string,
      query: { refs?: readonly ItemRef[] | undefined; after?: string | undefined; limit: number },
    ): Promise<RelationRecord[]> {
      const of = query.refs
        ? { $or: query.refs.map(({ item, version }) => ({ item, version, database_id: databaseId })) }
        : { database_id: databaseId };
      return relations
        .find({ ...of, ...(query.after === undefined ? {} : { _id: { $gt: query.after } }) })
        .sort({ _id: 1 })
        .limit(query.limit)
        .toArray();
    },

    /**
     * The graph around hits: entities mentioned in these chunks, and the relations whose evidence stands in them.
     * @param refs the items the chunks belong to
     */
    async graphAround(refs: readonly ItemRef[], chunkIds: readonly string[], limit: number) {
      if (refs.length === 0) return { entities: [], relations: [] };
      const here = new Set(chunkIds);
      const owners = { $or: refs.map((ref) => ({ item: ref.item, version: ref.version })) };
      const [nodes, edges] = await Promise.all([
        entities
          .find({ ...owners, 'mentions.chunk_id': { $in: [...here] } })
          .limit(limit * 4)
          .toArray(),
        relations
          .find({ ...owners, 'evidence.chunk_id': { $in: [...here] } })
          .limit(limit * 4)
          .toArray(),
      ]);
      return {
        entities: mergeEntities(nodes, here).slice(0, limit),
        relations: edges
          .sort(statedFirst)
          .slice(0, limit)
          .map((edge) => ({
            source: edge.source,
            target: edge.target,
            relation: edge.relation,
            source_id: edge.source_id,
            evidence: edge.evidence.filter((one) => here.has(one.chunk_id)),
          })),
      };
    },
  };
}

/** The same entity in several items is one entity in an answer; the most mentioned come first. */
function mergeEntities(nodes: readonly EntityRecord[], here: ReadonlySet<string>) {
  const merged = new Map<string, { name: string; type: string; source_ids: string[]; chunk_ids: string[] }>();
  for (const node of nodes) {
    const entity = merged.get(node.key) ?? { name: node.name, type: node.type, source_ids: [], chunk_ids: [] };
    merged.set(node.key, entity);
    if (!entity.source_ids.includes(node.source_id)) entity.source_ids.push(node.source_id);
    for (const { chunk_id } of node.mentions) {
      if (here.has(chunk_id) && !entity.chunk_ids.includes(chunk_id)) entity.chunk_ids.push(chunk_id);
    }
  }
  return [...merged.values()].sort((a, b) => b.chunk_ids.length - a.chunk_ids.length);
}

function entityKey(name: string): string {
  return name.normalize('NFKC').toLowerCase();
}

/** A stated relation says more than two names in one sentence. */
function statedFirst(a: RelationRecord, b: RelationRecord): number {
  return Number(a.relation === CO_OCCURS) - Number(b.relation === CO_OCCURS);
}
