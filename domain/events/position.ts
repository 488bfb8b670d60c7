/**
 * A position in the stream of changes: a time of MongoDB (seconds, and a count within the second), and how many of the
 * changes of this time have been seen. The changes of a transaction have one time.
 */
export interface EventPosition {
  seconds: number;
  count: number;
  seen: number;
}

/** `seen` of a position after all changes of its time. */
export const ALL_SEEN = 2 ** 32 - 1;

/** @returns the id of an event, which says where its stream continues */
export function eventId({ seconds, count, seen }: EventPosition): string {
  return `${seconds}.${count}.${seen}`;
}

/** @returns null for a text that `eventId` does not return */
export function parseEventId(id: string): EventPosition | null {
  const parts = /^(\d{1,10})\.(\d{1,10})\.(\d{1,10})$/.exec(id)?.slice(1).map(Number);
  if (!parts?.every((part) => part <= ALL_SEEN)) return null;
  const [seconds, count, seen] = parts as [number, number, number];
  return { seconds, count, seen };
}

/** @returns below 0 when `a` is before `b`, above 0 when it is after */
export function comparePositions(a: EventPosition, b: EventPosition): number {
  return a.seconds - b.seconds || a.count - b.count || a.seen - b.seen;
}
