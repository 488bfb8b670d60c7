import { z } from 'zod';
import { ServiceError } from '../domain/errors.js';

/** Query parameters of every list. */
export const pageQuerySchema = z.object({
  limit: z.coerce.number().int().min(1).max(100).default(20),
  cursor: z.string().optional(),
});
type PageQuery = z.output<typeof pageQuerySchema>;

export const nextCursorSchema = z
  .string()
  .nullable()
  .meta({ description: 'Pass it as `cursor` to get the next page; null on the last page.' });

/** Fields of every list response in addition to its records. */
export const pageFields = { count: z.int(), next_cursor: nextCursorSchema };

/** The order of a list, by a value of its records that never changes, so that a cursor stays valid. */
export interface ListOrder<T> {
  /** The value by which a record is ordered. */
  position(record: T): string;
  /** Matches a decoded cursor of this list; other cursors are rejected. */
  pattern: RegExp;
}

/** The order by ids, which sort by the time of creation. @param prefix of the ids, such as `dlv` */
export function byId(prefix: string): ListOrder<{ _id: string }> {
  return { position: ({ _id }) => _id, pattern: new RegExp(`^${prefix}_[0-9a-z]{26}$`) };
}

/**
 * Reads one page of a list.
 * @param find reads at most `limit` records that follow the position `from`, or the first ones without a position
 * @throws ServiceError INVALID_PARAMETERS for a cursor of another list
 */
export async function readPage<T>(
  { limit, cursor }: PageQuery,
  { position, pattern }: ListOrder<NoInfer<T>>,
  find: (page: { from: string | undefined; limit: number }) => Promise<T[]>,
): Promise<{ records: T[]; next_cursor: string | null }> {
  const from = cursor === undefined ? undefined : readCursor(cursor, pattern);
  // One more record than the page shows: whether there is another page.
  const found = await find({ from, limit: limit + 1 });
  const records = found.slice(0, limit);
  return { records, next_cursor: found.length > limit ? makeCursor(position(records.at(-1)!)) : null };
}

/** Opaque to clients. */
function makeCursor(position: string): string {
  return Buffer.from(position).toString('base64url');
}

function readCursor(cursor: string, pattern: RegExp): string {
  const position = Buffer.from(cursor, 'base64url').toString();
  if (!pattern.test(position)) throw new ServiceError('INVALID_PARAMETERS', 'cursor: is not a cursor of this list');
  return position;
}
