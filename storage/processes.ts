import type { Document } from 'mongodb';
import type { InstallationHealth } from '../domain/metrics.js';
import { STALE_KINDS, type StaleKind, TASK_QUEUES, type TaskQueue } from '../domain/workflow-contract.js';
import type { Access } from './collections.js';

export type ProcessRole = 'api' | 'worker';

/** A process that runs, or has ended without being asked to. */
export interface ProcessRecord {
  _id: string;
  role: ProcessRole;
  /** Of a worker. */
  queues: TaskQueue[];
  /** Until when it is known to run, on the server's clock. */
  alive_until: Date;
  /** Set when its signs are late, and the work that it may have left has been looked for. */
  late?: boolean;
  /** Set when it has ended by an error, which has been counted. */
  counted?: boolean;
}

/** How often processes have ended without being asked to, since the installation began. */
export interface ProcessEndRecord {
  /** `<role> <reason>` */
  _id: string;
  role: ProcessRole;
  reason: ProcessEnd;
  count: number;
}

/** `error`: it ended by an error, and said so; `lost`: it was killed, or crashed in native code. */
export type ProcessEnd = 'error' | 'lost';

/** When each job of the reconciler was completed last; before that, since when it is expected. */
export interface SweepRecord {
  _id: StaleKind;
  completed_at: Date;
}

/** How long a process counts as running after its last sign. */
const ALIVE_MS = 30_000;
/** How often a process shows a sign. */
export const SIGN_MS = 4_000;
/**
 * After how long without a sign the work of an API is looked for. It need not have ended: the search does no harm, while a
 * process that is counted as lost raises an alert.
 */
const LATE_MS = 10_000;

export type Processes = ReturnType<typeof createProcesses>;

/** Which processes run, which have ended without being asked to, and when the reconciler has completed its jobs. */
export function createProcesses({ processes, processEnds, sweeps }: Access<'processes' | 'processEnds' | 'sweeps'>) {
  const alive = { $expr: { $gt: ['$alive_until', '$$NOW'] } };
  const lost = { $expr: { $lte: ['$alive_until', '$$NOW'] } };
  const late = { $expr: { $lte: ['$alive_until', { $add: ['$$NOW', ALIVE_MS - LATE_MS] }] } };
  const countEnd = (role: ProcessRole, reason: ProcessEnd) =>
    processEnds.updateOne(
      { _id: `${role} ${reason}` },
      { $inc: { count: 1 }, $set: { role, reason } },
      { upsert: true },
    );

  return {
    /**
     * Stores that a process runs, and counts those that do not show a sign any more.
     * @returns whether an API is late, for the first caller: it may have died between storing work and starting it
     */
    async seen({ _id, role, queues }: Pick<ProcessRecord, '_id' | 'role' | 'queues'>): Promise<boolean> {
      const alive_until = { $add: ['$$NOW', ALIVE_MS] };
      const change: Document = { role, queues, alive_until, late: '$$REMOVE', counted: '$$REMOVE' };
      await processes.updateOne({ _id }, [{ $set: change }], { upsert: true });
      if (!(await processes.findOne({ $or: [lost, { ...late, late: { $ne: true } }] }))) return false;
      const marked = await processes.updateMany({ ...late, late: { $ne: true } }, { $set: { late: true } });
      const apis = marked.modifiedCount > 0 && (await processes.findOne({ ...late, role: 'api' }));
      for (;;) {
        const ended = await processes.findOneAndDelete(lost);
        if (!ended) return Boolean(apis);
        if (!ended.counted) await countEnd(ended.role, 'lost');
      }
    },

    /** @param reason null when the process was asked to end */
    async ended({ _id, role }: Pick<ProcessRecord, '_id' | 'role'>, reason: ProcessEnd | null): Promise<void> {
      if (reason === null) {
        await processes.deleteOne({ _id });
        return;
      }
      const change = [{ $set: { alive_until: '$$NOW', counted: true } }];
      const { modifiedCount } = await processes.updateOne({ _id, counted: { $ne: true } }, change);
      if (modifiedCount === 1) await countEnd(role, reason);
    },

    /** @returns how many workers of a queue run */
    countWorkers(queue: TaskQueue): Promise<number> {
      return processes.countDocuments({ ...alive, role: 'worker', queues: queue });
    },

    /** Stores from when on each job of the reconciler is expected, so that one that is never completed is late, too. */
    async expectSweeps(): Promise<void> {
      const since = [{ $set: { completed_at: { $ifNull: ['$completed_at', '$$NOW'] } } }];
      const updates = STALE_KINDS.map((_id) => ({ updateOne: { filter: { _id }, update: since, upsert: true } }));
      await sweeps.bulkWrite(updates, { ordered: false });
    },

    /** Stores that the reconciler has completed one of its jobs. */
    async swept(kind: StaleKind): Promise<void> {
      await sweeps.updateOne({ _id: kind }, [{ $set: { completed_at: '$$NOW' } }], { upsert: true });
    },

    async health(): Promise<InstallationHealth> {
      const [workers, ends, completed] = await Promise.all([
        processes.find({ ...alive, role: 'worker' }).toArray(),
        processEnds.find().toArray(),
        sweeps.find({ _id: { $in: [...STALE_KINDS] } }).toArray(),
      ]);
      const times = completed.map(({ completed_at }) => completed_at.getTime());
      const queues = new Set(workers.flatMap((worker) => worker.queues));
      return {
        queuesWithoutWorker: TASK_QUEUES.filter((queue) => !queues.has(queue)),
        ends: ends.map(({ role, reason, count }) => ({ role, reason, count })),
        sweptAt: times.length === 0 ? null : new Date(Math.min(...times)),
      };
    },
  };
}
