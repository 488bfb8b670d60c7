import type { SearchIndex } from '../domain/search.js';
import type { Files } from './files.js';
import type { Mongo } from './mongo.js';

export type RemoveItems = ReturnType<typeof createRemoveItems>;

/** The removal of items with all that belongs to them; their version counters stay, for when they come back. */
export function createRemoveItems(
  { client, items, removedItems, chunks, entities, relations }: Mongo,
  files: Files,
  index: SearchIndex,
) {
  return {
    /**
     * Removes items by the client's ids; unknown ones are passed over. May be repeated: the record goes last, so what an
     * interrupted removal has left is found again. An item under way ends without being announced.
     */
    async remove(org: string, tenant: string, ids: readonly string[]): Promise<void> {
      const found = await items
        .find({ tenant, org, id: { $in: [...ids] } })
        .project<{ _id: string; id: string; version: number; source: { file_id?: string } }>({
          id: 1,
          version: 1,
          'source.file_id': 1,
        })
        .toArray();
      if (found.length === 0) return;
      const keys = found.map(({ _id }) => _id);
      await clear(tenant, keys);
      for (const { source } of found) if (source.file_id) await files.remove(source.file_id);
      await client.withSession((session) =>
        session.withTransaction(async () => {
          await removedItems.bulkWrite(
            found.map(({ _id, id, version }) => ({
              updateOne: { filter: { _id }, update: { $set: { org, tenant, id, version } }, upsert: true },
            })),
            { session },
          );
          await items.deleteMany({ $or: found.map(({ _id, version }) => ({ _id, version })) }, { session });
        }),
      );
      // What an indexing under way has written in between.
      await clear(tenant, keys);
    },
  };

  async function clear(tenant: string, keys: readonly string[]): Promise<void> {
    const item = { $in: [...keys] };
    const own = await chunks.find({ item }, { projection: { _id: 1 } }).toArray();
    const ids = own.map(({ _id }) => _id);
    if (ids.length > 0 && (await index.exists(tenant))) await index.write(tenant, [], ids);
    await Promise.all([
      chunks.deleteMany({ _id: { $in: ids } }),
      entities.deleteMany({ item }),
      relations.deleteMany({ item }),
    ]);
  }
}
