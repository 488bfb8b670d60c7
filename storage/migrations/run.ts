import { createHash } from 'node:crypto';
import { setTimeout as wait } from 'node:timers/promises';
import type { Collection, Db } from 'mongodb';
import { ensureIndexes, INDEXES } from '../indexes.js';
import { createLeases, type LeaseRecord } from '../leases.js';
import { MIGRATIONS } from './list.js';
import type { Migration, Phase } from './migration.js';

/** What the database has of a migration. */
export interface MigrationRecord {
  /** `0001`, or `indexes/<hash>` for the creation of a list of indexes. */
  _id: string;
  name: string;
  phase: Phase;
  state: 'running' | 'done';
  /** The lease of the process that runs it, or has run it. */
  run: string;
  /** How far it is; absent before its first save. */
  position?: unknown;
  started_at: Date;
  finished_at: Date | null;
}

/** A migration as `postback migrate status` shows it. */
export interface MigrationStatus {
  id: string;
  name: string;
  phase: Phase;
  state: 'pending' | 'running' | 'done';
  started_at: Date | null;
  finished_at: Date | null;
}

export interface MigrateOptions {
  /** Also run `contract` migrations: only when no process of an older release is left. */
  contract?: boolean;
  /** Called before each migration. */
  onStart?: (migration: { id: string; name: string }) => void;
  /** Those of this release, for tests. */
  migrations?: readonly Migration[];
  indexes?: typeof INDEXES;
  /** How long the lease outlives a process that was killed. */
  leaseMs?: number;
}

/** The database was changed for a newer release. */
export class NewerDatabaseError extends Error {
  override readonly name = 'NewerDatabaseError';
}

const LEASE = 'migrations';
/** How often a process looks whether another one has finished. */
const ASK_MS = 250;

interface Step {
  id: string;
  name: string;
  phase: Phase;
  run: Migration['run'];
}

/**
 * Brings the database to the state that this release needs. One process runs the migrations; others that ask at the same
 * time wait for it. Does nothing when there is nothing to do, which costs one query.
 * @returns the ids of the migrations that this process has run
 * @throws NewerDatabaseError when this release is too old for the database
 */
export async function migrate(db: Db, options: MigrateOptions = {}): Promise<string[]> {
  const { contract = false, onStart, leaseMs } = options;
  const records = migrationRecords(db);
  const leases = createLeases({ leases: db.collection<LeaseRecord>('leases') }, leaseMs);
  const pending = async () =>
    (await readPending(records, options)).filter(({ phase }) => contract || phase === 'expand');
  while ((await pending()).length > 0) {
    const ran = await leases.whileHeld(LEASE, async (run) => {
      // Read again, because another process may have run them before this one got the lease.
      const steps = await pending();
      for (const step of steps) {
        onStart?.({ id: step.id, name: step.name });
        await runStep(db, step, run);
      }
      return steps.map(({ id }) => id);
    });
    if (ran) return ran.result;
    await wait(ASK_MS);
  }
  return [];
}

/** @returns the migrations of this release with their states, and the process that runs them now */
export async function readMigrations(
  db: Db,
  options: Pick<MigrateOptions, 'migrations' | 'indexes'> = {},
): Promise<{ migrations: MigrationStatus[]; running: string | null }> {
  const records = await migrationRecords(db).find().toArray();
  const byId = new Map(records.map((record) => [record._id, record]));
  const migrations = stepsOf(options).map(({ id, name, phase }): MigrationStatus => {
    const { state = 'pending', started_at = null, finished_at = null } = byId.get(id) ?? {};
    return { id, name, phase, state, started_at, finished_at };
  });
  const running = await createLeases({ leases: db.collection<LeaseRecord>('leases') }).holder(LEASE);
  return { migrations, running };
}

async function readPending(records: Collection<MigrationRecord>, options: MigrateOptions): Promise<Step[]> {
  const found = await records.find({}, { projection: { phase: 1, state: 1, name: 1 } }).toArray();
  const steps = stepsOf(options);
  const known = new Set(steps.map(({ id }) => id));
  const newer = found.find(({ _id, phase }) => phase === 'contract' && !known.has(_id));
  if (newer) {
    throw new NewerDatabaseError(
      `The database was changed for a newer release (migration ${newer._id}: ${newer.name}), which this release does not know. Run the newer release.`,
    );
  }
  const done = new Set(found.filter(({ state }) => state === 'done').map(({ _id }) => _id));
  return steps.filter(({ id }) => !done.has(id));
}

async function runStep(db: Db, step: Step, run: string): Promise<void> {
  const records = migrationRecords(db);
  const { name, phase } = step;
  const record = await records.findOneAndUpdate(
    { _id: step.id },
    {
      $set: { name, phase, state: 'running', run, finished_at: null },
      $setOnInsert: { started_at: new Date() },
    },
    { upsert: true, returnDocument: 'after' },
  );
  const change = async (set: Partial<MigrationRecord>) => {
    const { matchedCount } = await records.updateOne({ _id: step.id, run, state: 'running' }, { $set: set });
    if (matchedCount === 0) throw new Error(`Another process has taken over the migration ${step.id}.`);
  };
  await step.run({ db, position: record?.position, save: (position) => change({ position }) });
  await change({ state: 'done', finished_at: new Date() });
}

/** Whether a migration is done. @param number of the migration */
export async function hasMigrated(db: Db, number: number): Promise<boolean> {
  return (
    (await migrationRecords(db).findOne({ _id: idOf(number), state: 'done' }, { projection: { _id: 1 } })) !== null
  );
}

const idOf = (number: number): string => String(number).padStart(4, '0');

/** Indexes come after `expand`, because a unique index may need a field that a migration fills. */
function stepsOf({
  migrations = MIGRATIONS,
  indexes = INDEXES,
}: Pick<MigrateOptions, 'migrations' | 'indexes'>): Step[] {
  const numbered = migrations.map(({ number, ...migration }) => ({
    id: idOf(number),
    ...migration,
  }));
  const hash = createHash('sha256').update(JSON.stringify(indexes)).digest('hex').slice(0, 12);
  const createIndexes: Step = {
    id: `indexes/${hash}`,
    name: 'create missing indexes',
    phase: 'expand',
    run: ({ db }) => ensureIndexes(db, indexes),
  };
  return [
    ...numbered.filter(({ phase }) => phase === 'expand'),
    createIndexes,
    ...numbered.filter(({ phase }) => phase === 'contract'),
  ];
}

/** Makes the next run create the indexes again, for a database that was restored without them. */
export async function forgetIndexes(db: Db): Promise<void> {
  await migrationRecords(db).deleteMany({ _id: { $gte: 'indexes/', $lt: 'indexes/\uffff' } });
}

function migrationRecords(db: Db): Collection<MigrationRecord> {
  return db.collection<MigrationRecord>('migrations');
}
