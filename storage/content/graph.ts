import { CO_OCCURS, type Entity, type Graph, type Relation } from '../../domain/content/graph.js';
import type { ItemVersion } from '../../domain/content/workflow-contract.js';
import type { Access } from '../collections.js';
import { ENTITY_INDEX, RELATION_INDEX } from '../indexes.js';
import { type PageQuery, pageById } from '../queries.js';
import type { ItemRecord } from './items.js';
import { type VersionRange, versionsIn } from './outdated-versions.js';

/** What an entity or a relation belongs to. */
interface GraphRecord {
  _id: string;
  item: string;
  version: number;
  database_id: string;
  collection: string;
  source_id: string;
}

export interface EntityRecord extends GraphRecord, Entity {
  /** Normalised name, equal for the same entity in different items. */
  key: string;
}

export type RelationRecord = GraphRecord & Relation;

export type GraphStore = ReturnType<typeof createGraphStore>;

/** The knowledge graph: entities and relations of each item, with the sentences that mention them. */
export function createGraphStore({ entities, relations }: Access<'entities' | 'relations'>) {
  return {
    /**
     * Stores the graphs of item versions of one database.
     * @param replace removes the graphs that earlier runs have stored of these versions; false when there are none
     */
    async put(graphs: readonly { item: ItemRecord; graph: Graph }[], { replace }: { replace: boolean }): Promise<void> {
      if (graphs.length === 0) return;
      if (replace) {
        const versions = graphs.map(({ item: { _id, version } }) => ({ item: _id, version }));
        const replaced = ofVersions(graphs[0]!.item.database_id, versions);
        await Promise.all([entities.deleteMany(replaced), relations.deleteMany(replaced)]);
      }
      const nodes: EntityRecord[] = graphs.flatMap(({ item, graph }) =>
        graph.entities.map((entity, n) => ({ ...partOf(item, n), ...entity, key: entityKey(entity.name) })),
      );
      const edges: RelationRecord[] = graphs.flatMap(({ item, graph }) =>
        graph.relations.map((relation, n) => ({ ...partOf(item, n), ...relation })),
      );
      await Promise.all([
        nodes.length > 0 && entities.insertMany(nodes, { ordered: false }),
        edges.length > 0 && relations.insertMany(edges, { ordered: false }),
      ]);
    },

    /** Removes the graphs of versions of an item. */
    async remove(databaseId: string, versions: VersionRange): Promise<void> {
      const removed = versionsIn(databaseId, versions);
      await Promise.all([entities.deleteMany(removed), relations.deleteMany(removed)]);
    },

    /** @param refs restricts the list to these items @returns one page of the relations of a database, by id */
    async listRelations(
      database_id: string,
      { refs, ...page }: PageQuery & { refs?: readonly ItemVersion[] | undefined },
    ): Promise<RelationRecord[]> {
      if (refs?.length === 0) return [];
      return pageById(relations, refs ? ofVersions(database_id, refs) : { database_id }, page, 1).toArray();
    },

    /** @param refs versions of items, of one database @returns one page of their entities, by id */
    async listEntities(database_id: string, refs: readonly ItemVersion[], page: PageQuery): Promise<EntityRecord[]> {
      if (refs.length === 0) return [];
      return pageById(entities, ofVersions(database_id, refs), page, 1).toArray();
    },

    /**
     * @param items that the chunks belong to
     * @param limit of entities, and of relations
     * @returns the entities mentioned in these chunks, most mentioned first, and the relations whose evidence is in them
     */
    async graphAround(databaseId: string, items: readonly string[], chunkIds: readonly string[], limit: number) {
      if (items.length === 0) return { entities: [], relations: [] };
      const hits = new Set(chunkIds);
      // The ids of chunks contain the version. An `$or` over the versions would cost a plan for each.
      const owners = { database_id: databaseId, item: { $in: [...items] } };
      const [nodes, edges] = await Promise.all([
        entities
          .find({ ...owners, 'mentions.chunk_id': { $in: [...hits] } }, { hint: ENTITY_INDEX })
          .limit(limit * 4)
          .project<MentionedEntity>({ _id: 0, name: 1, type: 1, key: 1, source_id: 1, 'mentions.chunk_id': 1 })
          .toArray(),
        relations
          .find({ ...owners, 'evidence.chunk_id': { $in: [...hits] } }, { hint: RELATION_INDEX })
          .limit(limit * 4)
          .toArray(),
      ]);
      return {
        entities: mergeEntities(nodes, hits).slice(0, limit),
        relations: edges
          .sort(statedFirst)
          .slice(0, limit)
          .map((edge) => ({
            source: edge.source,
            target: edge.target,
            relation: edge.relation,
            collection: edge.collection,
            source_id: edge.source_id,
            evidence: edge.evidence.filter(({ chunk_id }) => hits.has(chunk_id)),
          })),
      };
    },
  };
}

/** Each part of the `$or` repeats the database, because each looks up the index by itself. */
const ofVersions = (database_id: string, versions: readonly ItemVersion[]) => ({
  database_id,
  $or: versions.map(({ item, version }) => ({ database_id, item, version })),
});

/** The fields of an entity that a query shows, without the sentences. */
type MentionedEntity = Pick<EntityRecord, 'name' | 'type' | 'key' | 'source_id'> & { mentions: { chunk_id: string }[] };

/** The fields of the n-th entity or relation of an item version. */
function partOf({ _id, version, database_id, collection, id }: ItemRecord, n: number) {
  return { _id: `${_id}/${version}/${n}`, item: _id, version, database_id, collection, source_id: id };
}

/** Merges the entities with the same key in several items; the most mentioned come first. */
function mergeEntities(nodes: readonly MentionedEntity[], hits: ReadonlySet<string>) {
  const merged = new Map<string, { name: string; type: string; source_ids: string[]; chunk_ids: string[] }>();
  for (const node of nodes) {
    const entity = merged.get(node.key) ?? { name: node.name, type: node.type, source_ids: [], chunk_ids: [] };
    merged.set(node.key, entity);
    if (!entity.source_ids.includes(node.source_id)) entity.source_ids.push(node.source_id);
    for (const { chunk_id } of node.mentions) {
      if (hits.has(chunk_id) && !entity.chunk_ids.includes(chunk_id)) entity.chunk_ids.push(chunk_id);
    }
  }
  return [...merged.values()].sort((a, b) => b.chunk_ids.length - a.chunk_ids.length);
}

function entityKey(name: string): string {
  return name.normalize('NFKC').toLowerCase();
}

/** Sorts stated relations before pairs of names that only occur together. */
function statedFirst(a: RelationRecord, b: RelationRecord): number {
  return Number(a.relation === CO_OCCURS) - Number(b.relation === CO_OCCURS);
}
