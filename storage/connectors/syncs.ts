import type { ClientSession } from 'mongodb';
import type { SyncCounts, Validators } from '../../domain/connectors/connectors.js';
import type { StartedSync, SyncOutcome } from '../../domain/connectors/workflow-contract.js';
import type { Access } from '../collections.js';
import type { ConnectorRecord, SyncRecord } from './connectors.js';

/** Progress of a sync; absent fields do not change. `removed` is added to the count of removed resources. */
export interface SyncStep {
  cursor?: string | null;
  listed?: boolean;
  truncated?: boolean;
  validators?: Validators;
  removed?: number;
}

export type ConnectorSyncs = ReturnType<typeof createConnectorSyncs>;

/** The state of each connector's latest sync. Every change is one conditional update. */
export function createConnectorSyncs({ connectors, now }: Access<'connectors' | 'now'>) {
  const running = ({ connector, sync }: StartedSync) => ({
    _id: connector,
    'sync.number': sync,
    'sync.status': 'running' as const,
    deleted_at: null,
  });

  return {
    /** Starts the connector's next sync. @returns the connector with that sync, or null when it was deleted */
    start(org: string, id: string): Promise<ConnectorRecord | null> {
      const sync: Record<keyof SyncRecord, unknown> = {
        number: { $add: [{ $ifNull: ['$sync.number', 0] }, 1] },
        revision: '$revision',
        status: 'running',
        started_at: '$$NOW',
        finished_at: null,
        cursor: null,
        listed: false,
        truncated: false,
        validators: { $literal: {} },
        steps: { $literal: 0 },
        removed: { $literal: 0 },
        error_code: null,
        error_message: null,
        counts: null,
      };
      return connectors.forOrg(org).findOneAndUpdate({ _id: id, deleted_at: null }, [{ $set: { sync } }]);
    },

    /** @returns the connector, or null when it was deleted or this sync is not its latest or has finished */
    findRunning(ref: StartedSync): Promise<ConnectorRecord | null> {
      return connectors.forOrg(ref.org).findOne(running(ref));
    },

    /**
     * Records a step of the sync, in the transaction of the step's own writes.
     * @returns false when the sync is not running any more: then the transaction must be aborted
     */
    async recordStep(ref: StartedSync, tx: ClientSession, step: SyncStep = {}): Promise<boolean> {
      const { removed = 0, ...progress } = step;
      const set = Object.fromEntries(Object.entries(progress).map(([name, value]) => [`sync.${name}`, value]));
      const result = await connectors.forOrg(ref.org).updateOne(
        running(ref),
        // Every step writes to the connector, so that a concurrent deletion conflicts with the transaction.
        { $set: set, $inc: { 'sync.steps': 1, 'sync.removed': removed } },
        { session: tx },
      );
      return result.matchedCount === 1;
    },

    /** Finishes the sync. @param listing validators for the next listing, unless the connector was changed meanwhile */
    async end(ref: StartedSync, outcome: SyncOutcome, counts: SyncCounts, listing: Validators): Promise<void> {
      const ended: Partial<SyncRecord> = {
        status: outcome.status,
        finished_at: now(),
        error_code: outcome.error_code ?? null,
        error_message: outcome.error_message ?? null,
        cursor: null,
        counts,
      };
      // Settings that were changed since the sync began may name another source, about which the validators say nothing.
      const isChanged = { $ne: ['$revision', '$sync.revision'] };
      await connectors.forOrg(ref.org).updateOne(running(ref), [
        {
          $set: {
            sync: { $mergeObjects: ['$sync', { $literal: ended }] },
            listing: { $cond: [isChanged, { $literal: {} }, { $literal: listing }] },
          },
        },
      ]);
    },
  };
}
