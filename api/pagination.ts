import { z } from 'zod';
import { ServiceError } from '../domain/errors.js';

/** What every list takes. */
export const pageQuerySchema = z.object({
  limit: z.coerce.number('must be a number').int().min(1).max(100).default(20),
  cursor: z.string().optional(),
});

/** What every list answers beside its page. */
export const nextCursorSchema = z
  .string()
  .nullable()
  .meta({ description: 'Pass it as `cursor` for the next page; null on the last.' });

/** Opaque to clients: where the page ended, because every list is in the order of something that does not change. */
function makeCursor(last: string): string {
  return Buffer.from(last).toString('base64url');
}

/** @param pattern of what the list puts into its cursors @throws ServiceError INVALID_PARAMETERS */
export function openCursor(cursor: string, pattern: RegExp): string {
  const last = Buffer.from(cursor, 'base64url').toString();
  if (!pattern.test(last)) {
    throw new ServiceError('INVALID_PARAMETERS', 'cursor: is not one that this list has given');
  }
  return last;
}

/**
 * One page of a list. @param found one more than the limit, where there are more
 * @param place of a record in the list's order
 */
export function pageOf<T>(found: readonly T[], limit: number, place: (last: T) => string) {
  const shown = found.slice(0, limit);
  return { shown, next_cursor: found.length > limit ? makeCursor(place(shown.at(-1)!)) : null };
}
