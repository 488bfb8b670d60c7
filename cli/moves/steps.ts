import { setTimeout as wait } from 'node:timers/promises';
import { tableOf } from '../../domain/content/index-generations.js';
import { createSharedDependencies } from '../../runtime/dependencies.js';
import { createLogger } from '../../runtime/logger.js';
import { type CopyReport, copyRecords } from '../../storage/moves/copy.js';
import { copyFiles, type FilesReport, fileIds } from '../../storage/moves/files.js';
import { pauseWork } from '../../storage/moves/pause.js';
import { countWork, deleteRecords } from '../../storage/moves/records.js';
import type { OrganisationWork } from '../../temporal/organisation-work.js';
import { rebuildIndexes } from '../rebuild-index.js';
import type { Cell } from './cell.js';

/** Pauses between two looks at the work under way; each is twice as long as the pause before. */
const MIN_LOOK_MS = 250;
const MAX_LOOK_MS = 5_000;
/** Passes of a copy before something writes faster than it copies. */
const MAX_PASSES = 20;

export interface DrainOptions {
  /** How long work under way may take. */
  waitMs: number;
  onWaiting: (left: string) => void;
}

/**
 * Waits until the work of an organisation has ended, and pauses what waits for a time or a person. At the end no process
 * of the source works for it.
 * @throws Error when the work takes too long
 */
export async function drain(source: Cell, work: OrganisationWork, org: string, options: DrainOptions): Promise<void> {
  const { waitMs, onWaiting } = options;
  const endsAt = performance.now() + waitMs;
  let pauseMs = MIN_LOOK_MS;
  for (;;) {
    const left = await drainOnce(source, work, org);
    const what = Object.entries(left).map(([name, count]) => `${count} ${name}`);
    if (what.length === 0) return;
    if (performance.now() > endsAt) {
      throw new Error(
        `work has not ended yet: ${what.join(', ')}. Run the command again to go on waiting, or with --cancel to end the move`,
      );
    }
    onWaiting(what.join(', '));
    await wait(pauseMs);
    pauseMs = Math.min(2 * pauseMs, MAX_LOOK_MS);
  }
}

/** @returns what has not ended, by kind */
async function drainOnce({ db }: Cell, work: OrganisationWork, org: string): Promise<Record<string, number>> {
  const idsOf = async (collection: string, filter: object) =>
    (
      await db
        .collection(collection)
        .find({ org, ...filter }, { projection: { _id: 1 } })
        .toArray()
    ).map(({ _id }) => String(_id));
  await work.stopConnectors(org, await idsOf('connectors', { deleted_at: null }));
  const counts = await countWork(db, org);
  if (Object.keys(counts).length > 0) return counts;
  const { unpaused } = await pauseWork(db, org);
  const paused = { paused: { $exists: true } };
  let unended = 0;
  for (const id of await idsOf('crew_executions', paused)) if (!(await work.endCrew(id))) unended += 1;
  for (const id of await idsOf('authentications', paused)) if (!(await work.endExpiry(id))) unended += 1;
  return {
    ...(unpaused > 0 ? { 'attempts of deliveries': unpaused } : {}),
    ...(unended > 0 ? { 'crews and timers': unended } : {}),
    ...(await work.endWaiting(org)),
  };
}

export interface Copied {
  records: CopyReport['records'];
  files: FilesReport;
  /** Records that were different, in all passes. */
  changed: number;
}

/**
 * Makes the target equal to the source. The last pass found no difference.
 * @throws Error when the source changes all the time
 */
export async function copyAll(source: Cell, target: Cell, org: string): Promise<Copied> {
  let changed = 0;
  for (let pass = 0; pass < MAX_PASSES; pass += 1) {
    const files = await copyFiles(source.db, source.files, target.files, org);
    const { records, written, deleted } = await copyRecords(source, target, org, target.engine);
    changed += written + deleted;
    if (written + deleted === 0) return { records, files, changed };
  }
  throw new Error('the source goes on changing records of the organisation: run the command again');
}

/** Writes the search indexes of an organisation from its records. @returns the number of databases */
export async function writeIndexes({ config }: Cell, org: string): Promise<number> {
  return (await rebuildIndexes({ config, org })).length;
}

/** Deletes what a cell has of an organisation. @returns the number of records */
export async function removeAll(
  { config, collections, db, files }: Cell,
  org: string,
  { keepKeys, skipIndex }: { keepKeys: boolean; skipIndex: boolean },
): Promise<number> {
  const databases = await collections.databases.find({ org }).toArray();
  if (!skipIndex && databases.length > 0) {
    const dependencies = await createSharedDependencies(
      { ...config, POSTBACK_EMBEDDINGS: 'off' },
      createLogger('warn', 'move'),
      { opensSecrets: false },
    );
    try {
      for (const { _id, index, next_index, retired_indexes = [] } of databases) {
        const places = [index, ...(next_index ? [next_index] : []), ...retired_indexes];
        for (const place of places) await dependencies.index.drop(tableOf(_id, place));
      }
    } finally {
      await dependencies.close();
    }
  }
  for await (const file of fileIds(db, org)) await files.remove(file);
  return deleteRecords(db, org, keepKeys ? ['api_keys'] : []);
}
