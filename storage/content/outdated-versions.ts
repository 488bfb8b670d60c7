import { filesOf, type ItemRecord, type ServedVersion } from './items.js';

/** An item as it was before its newest version ended. */
export type EndedItem = Pick<
  ItemRecord,
  '_id' | 'org' | 'database_id' | 'collection' | 'id' | 'version' | 'served_version' | 'source'
> & { served?: Pick<ServedVersion, 'source'> | undefined };

/**
 * What to clear of an item whose newest version has ended: versions that are not served any more because a newer version is
 * complete, or a replacement that failed.
 */
export function outdatedOf({ source, served, served_version, version, ...item }: EndedItem, completed: boolean) {
  const { _id, org, database_id, collection, id } = item;
  const outdated = { _id, org, database_id, collection, id, live: true as const };
  if (completed) return version === 1 ? [] : [{ ...outdated, version: version - 1, files: filesOf(served?.source) }];
  // Without a served version, the text of the failed version can be read.
  return served_version === null ? [] : [{ ...outdated, version, keep: served_version, files: filesOf(source) }];
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
