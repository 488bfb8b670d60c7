import type { Collection, Document, Filter, FindCursor, WithId } from 'mongodb';

/**
 * For a filter by id and organisation. The organisation makes other indexes possible, and MongoDB would compare their plans.
 * A cluster finds the shard by it.
 */
export const BY_ID = { hint: { _id: 1 } } as const;

/** A page of a list. */
export interface PageQuery<Position = string> {
  /** The position of the last record of the page before. */
  from?: Position | undefined;
  limit: number;
}

/** A place in a list by time: the time of a record, and its id among the records of that time. */
export interface TimePosition {
  at: Date;
  id: string;
}

interface Records<Entry> {
  find(filter: Filter<Entry>): FindCursor<WithId<Entry>>;
}

const NEXT = { 1: '$gt', [-1]: '$lt' } as const;

/** One page of the records that match, by id. @param direction ids sort by creation time: -1 lists the newest first */
export function pageById<Entry extends { _id: string }>(
  records: Records<Entry>,
  filter: Filter<Entry>,
  { from, limit }: PageQuery,
  direction: 1 | -1,
): FindCursor<WithId<Entry>> {
  const page = from === undefined ? filter : { $and: [filter, { _id: { [NEXT[direction]]: from } }] };
  return records
    .find(page as Filter<Entry>)
    .sort({ _id: direction })
    .limit(limit);
}

/** One page of the records that match, newest first, where ids sort by creation time. */
export function newestFirst<Entry extends { _id: string }>(
  records: Records<Entry>,
  filter: Filter<Entry>,
  page: PageQuery,
): FindCursor<WithId<Entry>> {
  return pageById(records, filter, page, -1);
}

/** One page of the records that match, by a time, where ids are random. */
export function pageByTime<Entry extends { _id: string }>(
  records: Records<Entry>,
  filter: Filter<Entry>,
  { from, limit }: PageQuery<TimePosition>,
  time: keyof Entry & string,
  direction: 1 | -1,
): FindCursor<WithId<Entry>> {
  const next = NEXT[direction];
  // The first condition is the range of the index that is read; the others leave out what the page before has shown.
  const page = from && {
    [time]: { [`${next}e`]: from.at },
    $or: [{ [time]: { [next]: from.at } }, { _id: { [next]: from.id } }],
  };
  return records
    .find({ ...filter, ...page } as Filter<Entry>)
    .sort({ [time]: direction, _id: direction })
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
