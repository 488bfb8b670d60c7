import type { ClientSession, Collection } from 'mongodb';
import { RESOURCE_OUTCOMES, type ResourceOutcome, type SyncCounts } from '../../domain/connectors/connectors.js';
import type { StartedSync } from '../../domain/connectors/workflow-contract.js';
import { sha256Hex } from '../../domain/ids.js';
import type { Validators } from './syncs.js';

export interface ConnectorResourceRecord extends Validators {
  /** Connector and hash of the key. */
  _id: string;
  org: string;
  connector: string;
  /** Address of a page, id of a feed's entry, key of an object. */
  key: string;
  /** Links from the start to here. */
  depth: number;
  /** The last sync that has met it. */
  sync: number;
  /** To be fetched in that sync. */
  due: boolean;
  outcome: ResourceOutcome | null;
  /** What the listing says about its version; taken over as `etag` once that is fetched. */
  listed_etag?: string | undefined;
  /** SHA-256 of its content, hex. */
  hash: string | null;
  /** The id of its item; null as long as there is none. */
  item_id: string | null;
  /** Where a page leads to on its site. */
  links?: string[] | undefined;
  error?: { code: string; message: string; at: Date } | undefined;
}

export type ConnectorResources = ReturnType<typeof createConnectorResources>;

export interface SeenResource {
  key: string;
  depth: number;
  /** What the listing says about its version. */
  etag?: string | undefined;
}

/** What has become of a resource that was due. */
export interface ResourceResult
  extends Partial<Pick<ConnectorResourceRecord, 'etag' | 'last_modified' | 'hash' | 'item_id' | 'links'>> {
  _id: string;
  /** `gone` ones are removed with those that are not listed any more. */
  outcome: ResourceOutcome | 'gone';
  error?: { code: string; message: string };
  /** The error of before stands. */
  keepError?: boolean;
}

/** The sync of a resource that has vanished for certain, however incomplete the listing was. */
const GONE = 0;

/** The resources of connectors: what each sync has found them to be, and what the next asks them by. */
export function createConnectorResources({
  connectorResources: resources,
}: {
  connectorResources: Collection<ConnectorResourceRecord>;
}) {
  return {
    /**
     * Resources that this sync has come upon; those it has met before are passed over. What the listing shows to be
     * unchanged is done with, the others are due.
     * @param room how many more the sync takes in. @returns how many were left out
     */
    async recordSeen(
      ref: StartedSync,
      seen: readonly SeenResource[],
      room: number,
      session: ClientSession,
    ): Promise<number> {
      const ids = new Map(seen.map((resource) => [resourceId(ref.connector, resource.key), resource]));
      const known = await resources.find({ _id: { $in: [...ids.keys()] } }, { session }).toArray();
      const before = new Map(known.map((one) => [one._id, one]));
      const writes = [...ids].flatMap(([_id, { key, depth, etag }]) => {
        const old = before.get(_id);
        // Shorter ways to a page are found while its turn has not come; its place is that of the first.
        if (old?.sync === ref.sync) return [];
        const unchanged = etag !== undefined && old?.etag === etag && old.hash !== null;
        const outcome: ResourceOutcome | null = unchanged ? (old.error ? 'failed' : 'unchanged') : null;
        return [
          {
            updateOne: {
              filter: { _id },
              update: {
                $set: {
                  depth,
                  sync: ref.sync,
                  due: !unchanged,
                  outcome,
                  ...(etag === undefined ? {} : { listed_etag: etag }),
                },
                $setOnInsert: { org: ref.org, connector: ref.connector, key, hash: null, item_id: null },
              },
              upsert: true,
            },
          },
        ];
      });
      const taken = writes.slice(0, Math.max(0, room));
      if (taken.length > 0) await resources.bulkWrite(taken, { session, ordered: false });
      return writes.length - taken.length;
    },

    /** The source says that nothing has changed: everything known stands as it was. */
    async recordAllSeen({ connector, sync }: StartedSync, session: ClientSession): Promise<void> {
      await resources.updateMany(
        { connector, sync: { $lt: sync } },
        [{ $set: { sync, due: false, outcome: { $cond: [{ $ifNull: ['$error', false] }, 'failed', 'unchanged'] } } }],
        { session },
      );
    },

    /** Next in turn, nearest to the start first. */
    listDue({ connector, sync }: StartedSync, limit: number): Promise<ConnectorResourceRecord[]> {
      return resources.find({ connector, due: true, sync }).sort({ depth: 1, _id: 1 }).limit(limit).toArray();
    },

    /** How many this sync has met. */
    countSeen({ connector, sync }: StartedSync): Promise<number> {
      return resources.countDocuments({ connector, sync });
    },

    async recordResults(results: readonly ResourceResult[], session: ClientSession): Promise<void> {
      const at = new Date();
      await resources.bulkWrite(
        results.map(({ _id, outcome, error, keepError, ...facts }) => ({
          updateOne: {
            filter: { _id },
            update: {
              $set: {
                ...facts,
                due: false,
                outcome: outcome === 'gone' ? null : outcome,
                ...(outcome === 'gone' ? { sync: GONE } : {}),
                ...(error ? { error: { ...error, at } } : {}),
              },
              ...(error || keepError ? {} : { $unset: { error: true } }),
            },
          },
        })),
        { session },
      );
    },

    /** What this sync has not met. @param complete false when it has not met all there is: then only what is gone for certain */
    listVanished(
      { connector, sync }: StartedSync,
      complete: boolean,
      limit: number,
    ): Promise<ConnectorResourceRecord[]> {
      return resources
        .find({ connector, sync: { $lt: complete ? sync : GONE + 1 } })
        .limit(limit)
        .toArray();
    },

    /** Of a deleted connector, whatever their state. */
    listAny(connector: string, limit: number): Promise<ConnectorResourceRecord[]> {
      return resources.find({ connector }).limit(limit).toArray();
    },

    async remove(ids: readonly string[], session?: ClientSession): Promise<void> {
      await resources.deleteMany({ _id: { $in: [...ids] } }, session ? { session } : {});
    },

    async countOutcomes(connector: string, sync: number, removed: number): Promise<SyncCounts> {
      const counted = await Promise.all(
        RESOURCE_OUTCOMES.map((outcome) => resources.countDocuments({ connector, sync, outcome })),
      );
      const found = Object.fromEntries(RESOURCE_OUTCOMES.map((outcome, n) => [outcome, counted[n]!]));
      return { ...(found as Record<ResourceOutcome, number>), removed };
    },

    /** Those whose last fetch has failed, by id. @param after the last id of the page before */
    listFailing(connector: string, { after, limit }: { after?: string | undefined; limit: number }) {
      return resources
        .find({
          connector,
          'error.code': { $exists: true },
          ...(after === undefined ? {} : { _id: { $gt: after } }),
        })
        .sort({ _id: 1 })
        .limit(limit)
        .toArray();
    },
  };
}

function resourceId(connector: string, key: string): string {
  return `${connector}/${hashOf(key)}`;
}

/** The item of a resource: the same for its life, another connector's is another one. */
export function itemIdOf(connector: string, key: string): string {
  return `${connector}-${hashOf(key)}`;
}

const hashOf = (key: string): string => sha256Hex(key).slice(0, 32);
