import { ServiceError } from '../domain/errors.js';
import { newTenantId } from '../domain/ids.js';
import { type Alongside, isDuplicateKey, type Mongo, writeAlongside } from './mongo.js';
import type { DatabaseRecord, MetadataField } from './records.js';

export type Databases = ReturnType<typeof createDatabases>;

/** Databases of an organisation: named by the client, known inside by a fixed internal id. */
export function createDatabases({ client, databases }: Mongo) {
  return {
    /** @throws ServiceError DATABASE_ALREADY_EXISTS */
    async create(
      org: string,
      name: string,
      metadataSchema: MetadataField[],
      alongside?: Alongside,
    ): Promise<DatabaseRecord> {
      const now = new Date();
      const record: DatabaseRecord = {
        _id: newTenantId(),
        org,
        name,
        status: 'provisioning',
        metadata_schema: metadataSchema,
        graph_ready: false,
        created_at: now,
        updated_at: now,
      };
      try {
        await writeAlongside(client, (session) => databases.insertOne(record, { session }), alongside);
      } catch (error) {
        if (isDuplicateKey(error)) {
          throw new ServiceError('DATABASE_ALREADY_EXISTS', `A database named "${name}" exists already.`);
        }
        throw error;
      }
      return record;
    },

    /** @throws ServiceError DATABASE_NOT_FOUND, for another organisation's as well */
    async get(org: string, name: string): Promise<DatabaseRecord> {
      const record = await databases.findOne({ org, name });
      if (!record) throw new ServiceError('DATABASE_NOT_FOUND', `There is no database named "${name}".`);
      return record;
    },

    /** Names of those that can be asked, in their order; a hundred at the most. */
    async readyNames(org: string): Promise<string[]> {
      const found = await databases.find({ org, status: 'ready' }).sort({ name: 1 }).limit(100).toArray();
      return found.map(({ name }) => name);
    },

    /** @returns what the index has to know of metadata; nothing once the database is gone */
    async metadataSchema(tenant: string): Promise<MetadataField[]> {
      const record = await databases.findOne({ _id: tenant }, { projection: { metadata_schema: 1 } });
      return record?.metadata_schema ?? [];
    },

    async markGraphReady(tenant: string): Promise<void> {
      await databases.updateOne({ _id: tenant }, { $set: { graph_ready: true, updated_at: new Date() } });
    },

    async markReady(tenant: string): Promise<void> {
      await databases.updateOne({ _id: tenant }, { $set: { status: 'ready', updated_at: new Date() } });
    },

    all(): Promise<DatabaseRecord[]> {
      return databases.find().toArray();
    },

    /** Databases whose provisioning may have been lost before it was started. */
    stale(before: Date): Promise<DatabaseRecord[]> {
      return databases
        .find({ status: 'provisioning', updated_at: { $lt: before } })
        .limit(100)
        .toArray();
    },
  };
}
