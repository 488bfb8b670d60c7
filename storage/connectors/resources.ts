import type { ClientSession } from 'mongodb';
import {
  RESOURCE_OUTCOMES,
  type ResourceOutcome,
  type SyncCounts,
  type Validators,
} from '../../domain/connectors/connectors.js';
import type { StartedSync, SyncRef } from '../../domain/connectors/workflow-contract.js';
import { sha256Hex } from '../../domain/ids.js';
import type { Access } from '../collections.js';
import { BY_ID, type PageQuery, pageById } from '../queries.js';

export interface ConnectorResourceRecord extends Validators {
  /** `<connector>/<hash of the key>` */
  _id: string;
  org: string;
  connector: string;
  /** URL of a page, id of a feed entry, or key of an object. */
  key: string;
  /** Number of links from a start page. */
  depth: number;
  /** The last sync that has seen it. */
  sync: number;
  /** Whether that sync has yet to fetch it. */
  due: boolean;
  outcome: ResourceOutcome | null;
  /** Entity tag in the listing; becomes `etag` when the resource is fetched. */
  listed_etag?: string | undefined;
  /** SHA-256 of the content, hex. */
  hash: string | null;
  /** The id of its item; null before it has one. */
  item_id: string | null;
  /** Links of a page to the same site. */
  links?: string[] | undefined;
  error?: { code: string; message: string; at: Date } | undefined;
}

export type ConnectorResources = ReturnType<typeof createConnectorResources>;

/** A resource whose last fetch has failed. */
export type FailingResource = Pick<ConnectorResourceRecord, '_id' | 'key' | 'item_id' | 'error'>;

/** A resource to remove. */
export type RemovableResource = Pick<ConnectorResourceRecord, '_id' | 'item_id'>;

/** A resource in a listing. */
export interface SeenResource {
  key: string;
  depth: number;
  /** Entity tag in the listing. */
  etag?: string | undefined;
}

/** The result of fetching a resource that was due. */
export interface ResourceResult
  extends Partial<Pick<ConnectorResourceRecord, 'etag' | 'last_modified' | 'hash' | 'item_id' | 'links'>> {
  _id: string;
  /** `gone`: removed together with resources that are no longer listed. */
  outcome: ResourceOutcome | 'gone';
  error?: { code: string; message: string };
  /** Keeps the error of an earlier fetch. */
  keepError?: boolean;
}

/** Value of `sync` for resources that no longer exist, which are removed even after an incomplete listing. */
const GONE = 0;

/**
 * The resources of connectors: the outcome of each in its last sync, and the validators for its next fetch. The links of one page
 * can take 2 MB, so only resources that are due are read whole.
 */
export function createConnectorResources({ connectorResources: resources, now }: Access<'connectorResources' | 'now'>) {
  const removable = ({ connector, org }: SyncRef, filter: { sync?: { $lt: number } }, limit: number) =>
    resources
      .forOrg(org)
      .find({ connector, ...filter })
      .project<RemovableResource>({ item_id: 1 })
      .limit(limit)
      .toArray();

  return {
    /**
     * Records resources that the sync has found. Resources that the listing shows to be unchanged are complete, all others
     * are due. Resources that this sync has seen before do not change.
     * @param room how many more resources the sync may contain
     * @returns the number of resources that were left out
     */
    async recordSeen(
      ref: StartedSync,
      seen: readonly SeenResource[],
      room: number,
      tx: ClientSession,
    ): Promise<number> {
      const ids = new Map(seen.map((resource) => [resourceId(ref.connector, resource.key), resource]));
      const stored = await resources
        .forOrg(ref.org)
        .find({ _id: { $in: [...ids.keys()] } }, { session: tx, ...BY_ID })
        .project<Pick<ConnectorResourceRecord, '_id' | 'sync' | 'etag' | 'hash' | 'error'>>({
          sync: 1,
          etag: 1,
          hash: 1,
          error: 1,
        })
        .toArray();
      const storedById = new Map(stored.map((resource) => [resource._id, resource]));
      const writes = [...ids].flatMap(([_id, { key, depth, etag }]) => {
        const previous = storedById.get(_id);
        // A page keeps the depth at which the sync first found it, even if a shorter path is found later.
        if (previous?.sync === ref.sync) return [];
        const unchanged = etag !== undefined && previous?.etag === etag && previous.hash !== null;
        const outcome: ResourceOutcome | null = unchanged ? (previous.error ? 'failed' : 'unchanged') : null;
        return [
          {
            filter: { _id },
            ...BY_ID,
            update: {
              $set: {
                depth,
                sync: ref.sync,
                due: !unchanged,
                outcome,
                ...(etag === undefined ? {} : { listed_etag: etag }),
              },
              $setOnInsert: { connector: ref.connector, key, hash: null, item_id: null },
            },
            upsert: true,
          },
        ];
      });
      const accepted = writes.slice(0, Math.max(0, room));
      if (accepted.length > 0) await resources.forOrg(ref.org).updateEach(accepted, { session: tx, ordered: false });
      return writes.length - accepted.length;
    },

    /** Marks all resources as seen and unchanged, because the source reports that its listing has not changed. */
    async recordAllSeen({ connector, org, sync }: StartedSync, tx: ClientSession): Promise<void> {
      await resources
        .forOrg(org)
        .updateMany(
          { connector, sync: { $lt: sync } },
          [{ $set: { sync, due: false, outcome: { $cond: [{ $ifNull: ['$error', false] }, 'failed', 'unchanged'] } } }],
          { session: tx },
        );
    },

    /** @returns resources to fetch, lowest depth first */
    listDue({ connector, org, sync }: StartedSync, limit: number): Promise<ConnectorResourceRecord[]> {
      return resources
        .forOrg(org)
        .find({ connector, due: true, sync })
        .sort({ depth: 1, _id: 1 })
        .limit(limit)
        .toArray();
    },

    /** @returns the number of resources that this sync has seen */
    countSeen({ connector, org, sync }: StartedSync): Promise<number> {
      return resources.forOrg(org).countDocuments({ connector, sync });
    },

    /** Stores the results of fetches; the resources are not due any more. */
    async recordResults({ org }: StartedSync, results: readonly ResourceResult[], tx: ClientSession): Promise<void> {
      const at = now();
      await resources.forOrg(org).updateEach(
        results.map(({ _id, outcome, error, keepError, ...fields }) => ({
          filter: { _id },
          ...BY_ID,
          update: {
            $set: {
              ...fields,
              due: false,
              outcome: outcome === 'gone' ? null : outcome,
              ...(outcome === 'gone' ? { sync: GONE } : {}),
              ...(error ? { error: { ...error, at } } : {}),
            },
            ...(error || keepError ? {} : { $unset: { error: true } }),
          },
        })),
        { session: tx },
      );
    },

    /**
     * @param complete whether the sync has seen the whole listing; if not, only resources that are certainly gone
     * @returns resources to remove, because the sync has not seen them
     */
    listVanished: (ref: StartedSync, complete: boolean, limit: number): Promise<RemovableResource[]> =>
      removable(ref, { sync: { $lt: complete ? ref.sync : GONE + 1 } }, limit),

    /** @returns resources in any state, to remove those of a deleted connector */
    listAny: (ref: SyncRef, limit: number): Promise<RemovableResource[]> => removable(ref, {}, limit),

    async remove(org: string, ids: readonly string[], tx?: ClientSession): Promise<void> {
      await resources.forOrg(org).deleteMany({ _id: { $in: [...ids] } }, { session: tx, ...BY_ID });
    },

    /** @returns the counts of a sync; `removed` is passed through */
    async countOutcomes({ org, connector, sync }: StartedSync, removed: number): Promise<SyncCounts> {
      const numbers = await Promise.all(
        RESOURCE_OUTCOMES.map((outcome) => resources.forOrg(org).countDocuments({ connector, sync, outcome })),
      );
      const counts = Object.fromEntries(RESOURCE_OUTCOMES.map((outcome, n) => [outcome, numbers[n]!]));
      return { ...(counts as Record<ResourceOutcome, number>), removed };
    },

    /** @returns one page of the resources whose last fetch failed, by id */
    listFailing({ org, connector }: SyncRef, page: PageQuery): Promise<FailingResource[]> {
      return pageById(resources.forOrg(org), { connector, 'error.code': { $exists: true } }, page, 1)
        .project<FailingResource>({ key: 1, item_id: 1, error: 1 })
        .toArray();
    },
  };
}

function resourceId(connector: string, key: string): string {
  return `${connector}/${hashKey(key)}`;
}

/** @returns the client id of a resource's item, which is stable and differs between connectors */
export function itemIdOf(connector: string, key: string): string {
  return `${connector}-${hashKey(key)}`;
}

const hashKey = (key: string): string => sha256Hex(key).slice(0, 32);
