import type { OwnedDatabase } from '../../domain/content/databases.js';
import { asServed } from '../../domain/content/items.js';
import type { ScoreParts } from '../../domain/content/ranking.js';
import type { SearchHit } from '../../domain/content/search.js';
import { chunkOwner } from '../../domain/ids.js';
import type { ChunkRecord, Chunks } from './chunks.js';
import type { ItemRecord, Items } from './items.js';

/** Chunks read in addition to the limit, because a hit may belong to a version that is not served. */
export const SPARE = 3;

/** A hit with the parts of its score, unless the score is that of the search. */
export interface RankedHit extends SearchHit {
  parts?: ScoreParts;
}

export interface Result {
  chunk: ChunkRecord;
  item: ItemRecord;
  hit: RankedHit;
}

/** The best hits of served versions. */
export interface Best {
  best: Result[];
  /** Hits that would be among the best, but whose version is not served. */
  unserved: number;
  /** Their items that no query can find: in progress for the first time, or deleted. */
  hidden: { collection: string; id: string }[];
  /** Versions that are served but not among the hits, which have only earlier versions of their items. */
  missing: string[];
}

/** The stores that have the content of hits. */
export interface ServedHitsDependencies {
  chunks: Pick<Chunks, 'getByIds'>;
  items: Pick<Items, 'listByKeys'>;
}

/**
 * Reads the first hits whose version is served, a few at a time. A version is either served throughout the result or not.
 * Chunks are read before their items: the chunks of a version are there until another one is served.
 */
export async function readServed(
  deps: ServedHitsDependencies,
  database: OwnedDatabase,
  hits: readonly RankedHit[],
  limit: number,
): Promise<Best> {
  const found = new Map<string, Result>();
  const items = new Map<string, ItemRecord | null>();
  const hidden = new Map<string, Best['hidden'][number]>();
  let unserved = 0;
  for (let start = 0; start < hits.length && found.size < limit; start += limit + SPARE) {
    const batch = hits.slice(start, start + limit + SPARE);
    const ids = batch.map((hit) => hit.chunk_id);
    const chunks = await deps.chunks.getByIds(database._id, ids);
    await readItems(deps, database, batch, items);
    for (const hit of batch) {
      const { chunk_id } = hit;
      const chunk = chunks.get(chunk_id);
      const { item: key, version } = chunkOwner(chunk_id);
      const item = items.get(key);
      if (chunk && item?.served_version === version) {
        if (!found.has(chunk_id)) found.set(chunk_id, { chunk, item: asServed(item), hit });
      } else {
        unserved += 1;
        if (chunk && (item?.served_version ?? null) === null)
          hidden.set(key, { collection: chunk.collection, id: chunk.source_id });
      }
    }
  }
  return {
    best: [...found.values()].slice(0, limit),
    unserved,
    hidden: [...hidden.values()],
    missing: missingVersions(hits, items),
  };
}

async function readItems(
  deps: Pick<ServedHitsDependencies, 'items'>,
  { org }: OwnedDatabase,
  hits: readonly SearchHit[],
  items: Map<string, ItemRecord | null>,
): Promise<void> {
  const missing = itemsOf(hits.map((hit) => hit.chunk_id)).filter((key) => !items.has(key));
  if (missing.length === 0) return;
  for (const key of missing) items.set(key, null);
  for (const item of await deps.items.listByKeys(org, missing)) items.set(item._id, item);
}

/** @returns the served versions of items that have only hits of earlier versions */
function missingVersions(hits: readonly SearchHit[], items: ReadonlyMap<string, ItemRecord | null>): string[] {
  const newest = new Map<string, number>();
  for (const { chunk_id } of hits) {
    const { item, version } = chunkOwner(chunk_id);
    newest.set(item, Math.max(version, newest.get(item) ?? 0));
  }
  return [...items].flatMap(([key, item]) => {
    const served = item?.served_version ?? 0;
    return served > (newest.get(key) ?? served) ? [`${key}/${served}`] : [];
  });
}

/** @returns the items that the chunks belong to, each once */
export function itemsOf(chunkIds: readonly string[]): string[] {
  return [...new Set(chunkIds.map((id) => chunkOwner(id).item))];
}
