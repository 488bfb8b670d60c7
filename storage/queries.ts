import type { Collection, Document, Filter, FindCursor, WithId } from 'mongodb';

/** A page of a list; ids sort by creation time. */
export interface PageQuery {
  /** The last id of the previous page. */
  before?: string | undefined;
  limit: number;
}

/** One page of the records that match, newest first. */
export function newestFirst<Entry extends { _id: string }>(
  collection: Collection<Entry>,
  filter: Filter<Entry>,
  { before, limit }: PageQuery,
): FindCursor<WithId<Entry>> {
  const page = before === undefined ? filter : { ...filter, _id: { $lt: before } };
  return collection
    .find(page as Filter<Entry>)
    .sort({ _id: -1 })
    .limit(limit);
}

/** What the reconciler takes from a collection in one run. */
export interface StaleQuery {
  /** Only records whose `check_at` is before this time. */
  before: Date;
  /** The new `check_at` of the records that are taken. */
  next: Date;
  limit: number;
}

/**
 * Takes records that are due for a check by the reconciler; they are not due again before `next`.
 * @param options `projection` limits the fields; `checkAt` is an expression that replaces `next`
 * @returns the records, least recently checked first
 */
export async function takeStale<Entry extends { _id: string; check_at: Date }>(
  collection: Collection<Entry>,
  filter: Filter<Entry>,
  { before, next, limit }: StaleQuery,
  options: { projection?: Document; checkAt?: Document } = {},
): Promise<Entry[]> {
  const { projection = {}, checkAt = next } = options;
  const due = { ...filter, check_at: { $lt: before } } as Filter<Entry>;
  const stale = await collection.find<Entry>(due, { projection }).sort({ check_at: 1 }).limit(limit).toArray();
  const taken = { _id: { $in: stale.map(({ _id }) => _id) } } as Filter<Entry>;
  await collection.updateMany(taken, [{ $set: { check_at: checkAt } }]);
  return stale;
}
