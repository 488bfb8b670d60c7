import type { ClientSession } from 'mongodb';
import type { RemovalRef } from '../../domain/content/workflow-contract.js';
import { newRemovalId } from '../../domain/ids.js';
import type { Access } from '../collections.js';
import { filesOf, type ItemRecord, type ServedVersion } from './items.js';

/** An item as it was before its newest version ended. */
type EndedItem = Pick<
  ItemRecord,
  '_id' | 'org' | 'database_id' | 'collection' | 'id' | 'version' | 'served_version' | 'source'
> & { served?: Pick<ServedVersion, 'source'> | undefined };

export type OutdatedVersions = ReturnType<typeof createOutdatedVersions>;

/**
 * Versions that are not served any more because a newer version is complete, and replacements that failed. They are recorded
 * in the transaction that ends the version; their data is cleared after it, if necessary by the reconciler.
 */
export function createOutdatedVersions({ removedItems }: Access<'removedItems'>) {
  return {
    /**
     * Records what to clear of items of one database.
     * @param completed whether the newest version of each is served now; else the version before stays
     * @returns null when there is nothing to clear
     */
    async add(
      items: readonly EndedItem[],
      { completed }: { completed: boolean },
      now: Date,
      tx: ClientSession,
    ): Promise<RemovalRef | null> {
      const outdated = items.flatMap((item) => outdatedOf(item, completed));
      if (outdated.length === 0) return null;
      const ref = { org: outdated[0]!.item.org, removal: newRemovalId() };
      await removedItems.forOrg(ref.org).updateEach(
        outdated.map(({ item: { _id, database_id, collection, id }, upTo, keep, files }) => ({
          filter: { _id },
          update: {
            $set: {
              database_id,
              collection,
              id,
              version: upTo,
              removal: ref.removal,
              check_at: now,
              live: true,
              ...(keep === null ? {} : { keep }),
            },
            ...(keep === null ? { $unset: { keep: true } } : {}),
            // The files of an earlier removal may not be cleared yet.
            $addToSet: { files: { $each: files } },
          },
          upsert: true,
        })),
        { session: tx },
      );
      return ref;
    },
  };
}

interface Outdated {
  item: EndedItem;
  upTo: number;
  /** The version that stays; null when all are cleared. */
  keep: number | null;
  files: string[];
}

function outdatedOf(item: EndedItem, completed: boolean): Outdated[] {
  const { version, served_version, source, served } = item;
  if (completed) {
    return version === 1 ? [] : [{ item, upTo: version - 1, keep: null, files: filesOf(served?.source) }];
  }
  // Without a served version, the text of the failed version can be read.
  return served_version === null ? [] : [{ item, upTo: version, keep: served_version, files: filesOf(source) }];
}

/** Versions of one item whose data is removed. */
export interface VersionRange {
  /** Internal key (`itm_…`). */
  item: string;
  /** Default: the first. */
  from?: number;
  upTo: number;
  /** This version is not in the range. */
  except?: number | undefined;
}

/** @returns the filter for the chunks, entities and relations of these versions */
export function versionsIn(database_id: string, { item, from, upTo, except }: VersionRange) {
  return {
    database_id,
    item,
    version: {
      ...(from === undefined ? {} : { $gte: from }),
      $lte: upTo,
      ...(except === undefined ? {} : { $ne: except }),
    },
  };
}
