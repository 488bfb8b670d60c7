import { createHash } from 'node:crypto';
import type { Client } from './client.js';
import { eventually } from './eventually.js';
import { withDb } from './product.js';

export interface SyncStatus {
  syncing: boolean;
  last_sync: {
    number: number;
    status: string;
    counts: Record<'new' | 'changed' | 'unchanged' | 'removed' | 'failed', number>;
    truncated: boolean;
    error_code: string | null;
    error_message: string | null;
  } | null;
  next_sync_at: string | null;
  errors: { resource: string; item_id: string | null; error_code: string; error_message: string }[];
  next_cursor: string | null;
}

/** Connectors over the API, whose responses have no envelope. */
export function connectorsOf(api: Client, mongodbUri: string) {
  const status = async (id: string) => (await api.get(`/connectors/${id}/status`)).body as unknown as SyncStatus;
  const ended = (id: string, number: number) =>
    eventually(`sync ${number} of ${id}`, async () => {
      const now = await status(id);
      const last = now.last_sync;
      return last && last.number >= number && last.status !== 'running' && !now.syncing
        ? { ...now, last_sync: last }
        : undefined;
    });
  const traces = (item: string) =>
    withDb(mongodbUri, async (db) => {
      const record = await db.collection('items').findOne({ id: item });
      return {
        items: record ? 1 : 0,
        chunks: await db.collection('chunks').countDocuments({ source_id: item }),
        relations: await db.collection('relations').countDocuments({ source_id: item }),
        entities: await db.collection('entities').countDocuments({ source_id: item }),
      };
    });

  return {
    status,
    /** Resolves with the status when this sync, or a later sync, has ended. */
    ended,
    /** Creates a paused connector, which only `sync` syncs. @returns its id */
    async create(connector: object): Promise<string> {
      const { status: code, body } = await api.post('/connectors', { schedule: { paused: true }, ...connector });
      if (code !== 201) throw new Error(`POST /connectors: ${code} ${JSON.stringify(body)}`);
      return (body as unknown as { id: string }).id;
    },
    async sync(id: string) {
      const { last_sync } = await status(id);
      const { status: code, body } = await api.post(`/connectors/${id}/sync`);
      if (code !== 202) throw new Error(`POST sync: ${code} ${JSON.stringify(body)}`);
      return ended(id, (last_sync?.number ?? 0) + 1);
    },
    itemOf: (id: string, key: string) => `${id}-${createHash('sha256').update(key).digest('hex').slice(0, 32)}`,
    /** Resolves when an item has no records left. */
    cleared: (item: string) =>
      eventually(`nothing of ${item}`, async () => Object.values(await traces(item)).every((count) => count === 0)),
    /** Counts the records that remain of an item in each collection. */
    traces,
  };
}
