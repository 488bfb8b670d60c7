import { openCollections } from '../storage/collections.js';
import { migrate, readMigrations } from '../storage/migrations/run.js';
import { runningSettings } from './data-folder.js';
import { print } from './remote/output.js';

interface Output {
  /** Print JSON. */
  json?: boolean;
}

/** `postback migrate status`: prints the migrations of this release, and which of them the database has. */
export async function showMigrations({ json }: Output): Promise<void> {
  await withDatabase(async (db) => {
    const { migrations, running } = await readMigrations(db);
    print({ json, data: { migrations, running } }, () => {
      const rows = migrations.map(({ id, phase, state, finished_at, name }) =>
        [id, phase, state, finished_at?.toISOString() ?? '-', name].join('  '),
      );
      return [...rows, ...(running === null ? [] : [`Running now: ${running}`])].join('\n');
    });
  });
}

/** `postback migrate run`: runs the migrations that the database lacks. @param contract also those that break old releases */
export async function runMigrations({ contract = false, json }: Output & { contract?: boolean }): Promise<void> {
  await withDatabase(async (db) => {
    const onStart = ({ id, name }: { id: string; name: string }) => console.error(`Migration ${id}: ${name}`);
    const ran = await migrate(db, { contract, onStart });
    const { migrations } = await readMigrations(db);
    const waiting = migrations.filter(({ state }) => state !== 'done').map(({ id }) => id);
    print({ json, data: { ran, waiting } }, () =>
      [
        ran.length === 0 ? 'The database has all of these migrations.' : `Done: ${ran.join(', ')}.`,
        ...(waiting.length === 0
          ? []
          : [`${waiting.join(', ')}: run with --contract when no process of an older release is left.`]),
      ].join('\n'),
    );
  });
}

async function withDatabase(work: (db: Awaited<ReturnType<typeof openCollections>>['db']) => Promise<void>) {
  const collections = await openCollections(runningSettings(process.env).MONGODB_URI, 'postback-migrate');
  try {
    await work(collections.db);
  } finally {
    await collections.mongoClient.close();
  }
}
