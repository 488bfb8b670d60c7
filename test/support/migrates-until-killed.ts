/** A process that is killed in the middle of a migration: `node migrates-until-killed.js <uri> <lease in ms>`. */
import { openCollections } from '../../storage/collections.js';
import { migrate } from '../../storage/migrations/run.js';
import { backfill } from './backfill.js';

let saves = 0;

const [uri, leaseMs] = process.argv.slice(2);
const { db } = await openCollections(uri!, 'postback-test');
await migrate(db, { migrations: [backfill(stopAfterThird)], indexes: {}, leaseMs: Number(leaseMs) });

async function stopAfterThird(): Promise<void> {
  saves += 1;
  if (saves < 3) return;
  process.send!({ saves });
  await new Promise(() => undefined);
}
