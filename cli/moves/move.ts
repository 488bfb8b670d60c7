/** The commands `postback orgs move` and `postback orgs purge`. */
import { setTimeout as wait } from 'node:timers/promises';
import { createLeases, type LeaseRecord } from '../../storage/leases.js';
import { continueWork } from '../../storage/moves/pause.js';
import { findRecords } from '../../storage/moves/records.js';
import type { OrganisationMove } from '../../storage/organisations.js';
import { connectTemporal, temporalAccess } from '../../temporal/connection.js';
import { createOrganisationWork } from '../../temporal/organisation-work.js';
import { type Cell, openCell, requireApart, requireIndex, requireSameRelease } from './cell.js';
import { type Copied, copyAll, drain, removeAll, writeIndexes } from './steps.js';

export interface MoveOptions {
  org: string;
  /** File with the settings of the target. */
  to: string;
  /** File with the settings of the source; without it, the environment. */
  from?: string;
  /** Where clients of the organisation find it, for the errors of the source. */
  address?: string;
  /** How long requests may take that were accepted before the move. */
  settleMs: number;
  /** How long work under way may take. */
  waitMs: number;
  /** The search index is written by another command. */
  skipIndex?: boolean;
}

/** What was moved. `null` when the organisation was at the target already. */
export type Moved = Copied | null;

/** Called before each step, with a sentence for the operator. */
export type Report = (step: MoveStep, text: string) => void;
export type MoveStep = 'close' | 'drain' | 'copy' | 'index' | 'switch' | 'compare' | 'open' | 'done';

/**
 * Moves an organisation from one cell to another. Its state is stored in both cells, so a move that was interrupted
 * continues when it is started again, at any point.
 * @throws Error when the cells do not fit, the organisation is at the target already, or work takes too long
 */
export async function moveOrganisation(options: MoveOptions, report: Report): Promise<Moved> {
  return betweenCells(options, async (source, target) => {
    const { org } = options;
    const at = await source.states.find(org);
    const there = await target.states.find(org);
    if (at?.state === 'moved' || at?.state === 'emptied') {
      if (there?.id !== at.id) throw new Error(`${org} has moved from the source to another target already`);
      return null;
    }
    requireApart(source, target, !options.skipIndex);
    await requireSameRelease(source, target);
    if (!options.skipIndex) requireIndex(target);
    const work = await openWork(source);
    const waiting = (left: string) => report('drain', `Waiting for ${left}.`);
    const drainSource = () => drain(source, work, org, { waitMs: options.waitMs, onWaiting: waiting });
    const writeIndex = async () => {
      if (options.skipIndex) return;
      report('index', 'Writing the search indexes at the target.');
      await writeIndexes(target, org);
    };
    try {
      const started = at?.state === 'closing' || at?.state === 'closed' || at?.state === 'switching';
      if (!started || at.state !== 'switching') {
        if (!started) await requireMovable(source, org);
        await requireFree(target, org, there, started ? at.id : null);
        report('close', `${org} can be read only from now on.`);
        const id = await source.states.close(org, 'closing', started ? at.id : undefined);
        await target.states.markArriving(org, id, await source.states.limitsOf(org));
        await wait(options.settleMs);
        report('drain', 'Waiting for the work under way, and pausing what waits.');
        await drainSource();
        await source.states.close(org, 'closed', id);
        report('copy', 'Copying files and records, until both cells are equal.');
        await copyAll(source, target, org);
        await writeIndex();
      }
      const { id } = (await source.states.find(org))!;
      report('switch', `Requests to the source are told that ${org} has moved.`);
      await source.states.markMoved(org, id, 'switching', options.address);
      let copied: Copied | null = null;
      // Once the target serves the organisation, its records are its own.
      if ((await target.states.find(org))?.state !== 'here') {
        // Requests that had begun before the move may have written since.
        report('compare', 'Comparing both cells once more.');
        await drainSource();
        copied = await copyAll(source, target, org);
        if (copied.changed > 0) await writeIndex();
        await target.states.markHere(org, id);
      }
      report('open', `The target serves ${org}, and continues its work.`);
      await continueWork(target.db, org, target.config.POSTBACK_DELIVERY_LANES);
      await target.states.open(org);
      report('done', 'The source keeps its records until `postback orgs purge`.');
      await source.states.markMoved(org, id, 'moved', options.address);
      return copied;
    } finally {
      await work.close();
    }
  });
}

/**
 * Ends a move that has not switched: the source serves the organisation again, and what was copied is deleted.
 * @throws Error when no move is under way, or it has switched
 */
export async function cancelMove(options: MoveOptions): Promise<void> {
  await betweenCells(options, async (source, target) => {
    const { org, skipIndex = false } = options;
    const at = await source.states.find(org);
    if (at?.state !== 'closing' && at?.state !== 'closed') {
      throw new Error(
        at?.state === 'switching' ? `${org} has switched: run the command without --cancel` : `${org} does not move`,
      );
    }
    const there = await target.states.find(org);
    if (there?.id === at.id) {
      await removeAll(target, org, { keepKeys: false, skipIndex });
      await target.states.forget(org, at.id);
    }
    await continueWork(source.db, org, source.config.POSTBACK_DELIVERY_LANES);
    await source.states.cancel(org);
  });
}

/**
 * Deletes what the source has of an organisation that has moved. Its keys stay, so that requests are told where it is.
 * @returns the number of records
 * @throws Error when the organisation has not moved
 */
export async function purgeOrganisation(org: string, skipIndex: boolean): Promise<number> {
  const source = await openCell('source', undefined);
  try {
    const at = await source.states.find(org);
    if (at?.state !== 'moved' && at?.state !== 'emptied') throw new Error(`${org} has not moved to another cell`);
    const deleted = await removeAll(source, org, { keepKeys: true, skipIndex });
    await source.states.markMoved(org, at.id, 'emptied', at.address);
    return deleted;
  } finally {
    await source.close();
  }
}

/** Opens both cells, and does the work unless another process moves the organisation. */
async function betweenCells<Result>(
  { org, from, to }: MoveOptions,
  work: (source: Cell, target: Cell) => Promise<Result>,
): Promise<Result> {
  const source = await openCell('source', from);
  try {
    const target = await openCell('target', to);
    try {
      const leases = createLeases({ leases: source.db.collection<LeaseRecord>('leases') });
      const held = await leases.whileHeld(`move/${org}`, () => work(source, target));
      if (!held) throw new Error(`another process moves ${org}`);
      return held.result;
    } finally {
      await target.close();
    }
  } finally {
    await source.close();
  }
}

async function openWork({ config }: Cell) {
  const { TEMPORAL_ADDRESS: address, TEMPORAL_NAMESPACE: namespace } = config;
  const client = await connectTemporal(address, namespace, temporalAccess(config));
  return { ...createOrganisationWork(client), close: () => client.connection.close() };
}

async function requireMovable({ db }: Cell, org: string): Promise<void> {
  if ((await findRecords(db, org)) === null) throw new Error(`the source has no organisation ${org}`);
}

/** @throws Error when the target has records of the organisation that this move has not written */
async function requireFree(
  target: Cell,
  org: string,
  there: OrganisationMove | null,
  id: string | null,
): Promise<void> {
  if (there !== null && there.id === id) return;
  if (there?.state === 'arriving') throw new Error(`${org} is on its way to the target from another cell`);
  // Keys of an organisation that has left the target earlier are replaced.
  const found = await findRecords(target.db, org, there?.state === 'emptied' ? ['api_keys'] : []);
  if (found !== null) throw new Error(`the target has ${org} already: its collection ${found} has records`);
}
