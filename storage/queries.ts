import type { Collection, Document, Filter, FindCursor, WithId } from 'mongodb';

/**
 * For a filter by id and organisation. The organisation makes other indexes possible, and MongoDB would compare their plans.
 * A cluster finds the shard by it.
 */
export const BY_ID = { hint: { _id: 1 } } as const;

/** A page of a list; ids sort by creation time. */
export interface PageQuery {
  /** The last id of the previous page. */
  before?: string | undefined;
  limit: number;
}

/** One page of the records that match, newest first. */
export function newestFirst<Entry extends { _id: string }>(
  records: { find(filter: Filter<Entry>): FindCursor<WithId<Entry>> },
  filter: Filter<Entry>,
  { before, limit }: PageQuery,
): FindCursor<WithId<Entry>> {
  const page = before === undefined ? filter : { $and: [filter, { _id: { $lt: before } }] };
  return records
    .find(page as Filter<Entry>)
    .sort({ _id: -1 })
    .limit(limit);
}

/** Records of one collection whose workflow can be missing, for the reconciler. */
export interface StaleRecords<Entry> {
  /** @returns records that were last changed or checked before `before`, least recently checked first */
  list(before: Date, limit: number): Promise<Entry[]>;
  /** Records that their workflows were started: those that are still due are not due again before `next`. */
  markStarted(entries: readonly Entry[], before: Date, next: Date): Promise<void>;
  /** Records that their workflows could not be started at `now`: they are due again after all others. */
  markFailed(entries: readonly Entry[], before: Date, now: Date): Promise<void>;
}

export interface StaleOptions {
  /** Limits the fields. */
  projection?: Document;
  /** Returns an expression that replaces `next` of a started record. */
  checkAt?: (next: Date) => Document;
}

/** @param filter the records that need a workflow; records without `check_at` are due */
export function staleRecords<Entry extends { _id: string }>(
  collection: Collection<Entry>,
  filter: (before: Date) => Filter<Entry>,
  options: StaleOptions = {},
): StaleRecords<Entry> {
  const { projection = {}, checkAt = (next) => next } = options;
  const due = (before: Date) => ({ ...filter(before), check_at: { $not: { $gte: before } } }) as Filter<Entry>;
  const setCheckAt = async (entries: readonly Entry[], before: Date, check_at: Date | Document) => {
    if (entries.length === 0) return;
    const checked = { ...due(before), _id: { $in: entries.map(({ _id }) => _id) } } as Filter<Entry>;
    await collection.updateMany(checked, [{ $set: { check_at } }]);
  };
  return {
    list: (before, limit) =>
      collection.find<Entry>(due(before), { projection }).sort({ check_at: 1 }).limit(limit).toArray(),
    markStarted: (entries, before, next) => setCheckAt(entries, before, checkAt(next)),
    markFailed: setCheckAt,
  };
}
