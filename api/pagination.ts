import { z } from 'zod';
import { ServiceError } from '../domain/errors.js';
import type { TimePosition } from '../storage/queries.js';
import { numberParameter } from './number-parameter.js';

/**
 * Query parameters of a list. The pattern of the cursor is for the document: `readPage` rejects other cursors, with a message that
 * says why.
 */
export function pageQuery({ pattern }: Pick<ListOrder<never>, 'pattern'>) {
  return z.object({
    limit: numberParameter(z.number().int().min(1).max(100)).default(20),
    cursor: z.string().meta({ pattern: pattern.source }).optional(),
  });
}
type PageQuery = z.output<ReturnType<typeof pageQuery>>;

export const nextCursorSchema = z
  .string()
  .nullable()
  .meta({ description: 'Pass it as `cursor` to get the next page; null on the last page.' });

/**
 * The response of a list: a page of records, their number and the next cursor.
 * @param name of the field with the records
 * @param order of the records, for the document
 */
export function listSchema<Name extends string, Item extends z.ZodType>(name: Name, record: Item, order?: string) {
  const records = z.array(record);
  const described = order === undefined ? records : records.meta({ description: order });
  const field = { [name]: described } as { [Key in Name]: typeof records };
  return z.object({ ...field, count: z.int(), next_cursor: nextCursorSchema });
}

/** The order of a list, by a value of its records that never changes, so that a cursor stays valid. */
export interface ListOrder<T> {
  /** The value by which a record is ordered, which is the cursor of the page that follows it. */
  position(record: T): string;
  /** Matches the cursors of this list, and nothing else: each match is a position. */
  pattern: RegExp;
}

/** The order by ids, which sort by the time of creation. @param prefix of the ids, such as `dlv` */
export function byId(prefix: string): ListOrder<{ _id: string }> {
  return { position: ({ _id }) => _id, pattern: new RegExp(`^${prefix}_[0-9a-z]{26}$`) };
}

/** The order by a time, then by the ids, which are UUIDs. The cursor holds both. */
export function byTime<T extends { _id: string }>(timeOf: (record: T) => Date): ListOrder<T> {
  const pattern = /^[0-9]{13}_[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;
  return { position: (record) => `${timeOf(record).getTime()}_${record._id}`, pattern };
}

/** @param cursor of a list in the order `byTime` */
export function timePosition(cursor: string | undefined): TimePosition | undefined {
  if (cursor === undefined) return undefined;
  const [time, id] = cursor.split('_') as [string, string];
  return { at: new Date(Number(time)), id };
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
  if (cursor !== undefined && !pattern.test(cursor)) {
    throw new ServiceError('INVALID_PARAMETERS', 'cursor: is not a cursor of this list');
  }
  // One more record than the page shows: whether there is another page.
  const found = await find({ from: cursor, limit: limit + 1 });
  const records = found.slice(0, limit);
  return { records, next_cursor: found.length > limit ? position(records.at(-1)!) : null };
}
