import type { Db, IndexSpecification } from 'mongodb';

/** Indexes of earlier releases, by collection. Others begin with the organisation, or the database, in their place. */
export const INDEXES_WITHOUT_ORG: Readonly<Record<string, readonly IndexSpecification[]>> = {
  items: [
    { database_id: 1, id: 1, collection: 1 },
    { batch: 1, group: 1, _id: 1 },
    { database_id: 1, indexing_status: 1, type: 1, _id: -1 },
    { database_id: 1, collection: 1, indexing_status: 1, type: 1, _id: -1, bytes: 1 },
  ],
  chunks: [{ item: 1, version: 1, ordinal: 1 }],
  entities: [{ item: 1, version: 1 }, { database_id: 1 }],
  relations: [{ item: 1, version: 1, _id: 1 }],
  feedback: [{ database_id: 1, _id: -1, rating: 1 }, { database_id: 1, source_id: 1, _id: -1, rating: 1 }, { vote: 1 }],
  feedback_tallies: [{ database_id: 1 }],
  removed_items: [
    { database_id: 1, id: 1, collection: 1 },
    { removal: 1, _id: 1 },
  ],
  deliveries: [
    { dedupe_key: 1 },
    { signing_key: 1 },
    { check_at: 1 },
    { lane: 1, 'queue.receiver': 1, 'queue.due': 1, _id: 1, org: 1 },
  ],
  ai_jobs: [{ file_id: 1 }, { signing_key: 1 }],
  checkpoints: [{ owner: 1 }],
  crew_steps: [{ execution: 1, task: 1, attempt: 1, step: 1, call: 1 }],
  crew_feedback: [{ execution: 1, applied_at: 1 }],
  connectors: [{ database_id: 1 }],
  connector_resources: [
    { connector: 1, sync: 1, outcome: 1 },
    { connector: 1, depth: 1, _id: 1 },
    { connector: 1, _id: 1 },
  ],
  unclaimed_files: [{ batch: 1 }],
  'files.files': [{ 'metadata.batch': 1 }],
};

/** Drops them. They are found by their keys, because operators may have indexes of their own under any name. */
export async function dropIndexesWithoutOrg(db: Db): Promise<void> {
  const existing = new Set(
    (await db.listCollections({ type: 'collection' }, { nameOnly: true }).toArray()).map(({ name }) => name),
  );
  for (const [name, dropped] of Object.entries(INDEXES_WITHOUT_ORG)) {
    if (!existing.has(name)) continue;
    const keys = new Set(dropped.map((key) => JSON.stringify(key)));
    for (const index of await db.collection(name).indexes()) {
      if (keys.has(JSON.stringify(index.key))) await db.collection(name).dropIndex(index.name!);
    }
  }
}
