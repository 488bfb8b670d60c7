import type { Collection, Document } from 'mongodb';
import type { InstallationHealth } from '../domain/metrics.js';
import { STALE_KINDS, type StaleKind, TASK_QUEUES, type TaskQueue } from '../domain/workflow-contract.js';

export type ProcessRole = 'api' | 'worker';

/** A process that runs, or has ended without being asked to. */
export interface ProcessRecord {
  _id: string;
  role: ProcessRole;
  /** Of a worker. */
  queues: TaskQueue[];
  /** Until when it is known to run, on the server's clock. */
  alive_until: Date;
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

/** When each job of the reconciler was completed last. */
export interface SweepRecord {
  _id: StaleKind;
  completed_at: Date;
}

/** How long a process counts as running after its last sign. */
export const ALIVE_MS = 30_000;

export type Processes = ReturnType<typeof createProcesses>;

/** Which processes run, which have ended without being asked to, and when the reconciler has completed its jobs. */
export function createProcesses({
  processes,
  processEnds,
  sweeps,
}: {
  processes: Collection<ProcessRecord>;
  processEnds: Collection<ProcessEndRecord>;
  sweeps: Collection<SweepRecord>;
}) {
  const alive = { $expr: { $gt: ['$alive_until', '$$NOW'] } };
  const lost = { $expr: { $lte: ['$alive_until', '$$NOW'] } };
  const countEnd = (role: ProcessRole, reason: ProcessEnd) =>
    processEnds.updateOne(
      { _id: `${role} ${reason}` },
      { $inc: { count: 1 }, $set: { role, reason } },
      { upsert: true },
    );

  return {
    /** Stores that a process runs, and counts those that do not show a sign any more. */
    async seen({ _id, role, queues }: Omit<ProcessRecord, 'alive_until'>): Promise<void> {
      const change: Document = { role, queues, alive_until: { $add: ['$$NOW', ALIVE_MS] } };
      await processes.updateOne({ _id }, [{ $set: change }], { upsert: true });
      for (;;) {
        const ended = await processes.findOneAndDelete(lost);
        if (!ended) return;
        await countEnd(ended.role, 'lost');
      }
    },

    /** @param reason null when the process was asked to end */
    async ended({ _id, role }: Pick<ProcessRecord, '_id' | 'role'>, reason: ProcessEnd | null): Promise<void> {
      const { deletedCount } = await processes.deleteOne({ _id });
      if (deletedCount === 1 && reason !== null) await countEnd(role, reason);
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
