import { type EmbeddingModel, isSameModel } from '../../domain/content/embedding-models.js';
import type { Chunks } from '../../storage/content/chunks.js';
import type { DatabaseIndexes } from '../../storage/content/database-indexes.js';
import type { PlannedDatabase, RebuildPlan, RebuildRequest } from '../../storage/content/index-rebuilds.js';

export interface PlanDependencies {
  databaseIndexes: Pick<DatabaseIndexes, 'listAll'>;
  chunks: Pick<Chunks, 'measure'>;
}

/** Databases that a plan lists; the sums have all. */
const LISTED = 200;

/** @returns what a rebuild or a move would embed, and the internal ids of its databases */
export async function planOf(
  { databaseIndexes, chunks }: PlanDependencies,
  { database, all, engine }: RebuildRequest,
  model: EmbeddingModel | null,
  signal: AbortSignal,
): Promise<{ plan: RebuildPlan; ids: string[] }> {
  const planned: PlannedDatabase[] = [];
  for (const { _id, org, name, status, index } of await databaseIndexes.listAll()) {
    signal.throwIfAborted();
    if (status === 'deleting' || (database !== null && database !== _id)) continue;
    if (engine === (index.engine ?? 'lancedb')) continue;
    const measured = await chunks.measure(_id, index.generation);
    const isNew = engine ? index.embeddings === null && model !== null : all || !isSameModel(index.embeddings, model);
    const toEmbed = isNew ? measured.chunks : engine ? 0 : measured.missing;
    // A database without chunks and without vectors gets the model with its first item.
    if (!engine && toEmbed === 0 && (!isNew || index.embeddings === null)) continue;
    const characters = Math.round((measured.characters * toEmbed) / Math.max(1, measured.chunks));
    planned.push({ _id, org, name, from: index.embeddings, chunks: measured.chunks, to_embed: toEmbed, characters });
  }
  const sum = (field: 'chunks' | 'to_embed' | 'characters') =>
    planned.reduce((total, entry) => total + entry[field], 0);
  return {
    ids: planned.map(({ _id }) => _id),
    plan: {
      model,
      databases: planned.length,
      chunks: sum('chunks'),
      to_embed: sum('to_embed'),
      characters: sum('characters'),
      list: planned.slice(0, LISTED),
    },
  };
}
