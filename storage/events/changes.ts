import type { ChangeStream, Db, Document } from 'mongodb';
import { MongoServerError, Timestamp } from 'mongodb';
import { ALL_SEEN, comparePositions, type EventPosition } from '../../domain/events/position.js';
import { describeChange, type OrgEvent, STATUS_CHANGES } from './describe-change.js';

/** The next step of a reader: its position, and the event that it found there. */
export interface Change {
  position: EventPosition;
  /** Null when nothing happened for a while, or nothing that clients see. */
  found: OrgEvent | null;
}

export interface ChangeReader {
  /** @throws EventsLostError, or MongoDB's error when the stream cannot continue */
  next(): Promise<Change>;
  close(): Promise<void>;
}

/** The changes after a position are no longer in MongoDB's log. */
export class EventsLostError extends Error {
  override readonly name = 'EventsLostError';
}

const BATCH_SIZE = 100;

/** MongoDB's codes for a position that its log no longer has. */
const LOST = [136, 280, 286];

export type ChangeLog = ReturnType<typeof createChangeLog>;

/**
 * Changes of state in all organisations, read from a change stream. This costs writers nothing, because MongoDB keeps the log anyway. Each
 * change is read once from the log, and its record once more for the ids of an update.
 */
export function createChangeLog(db: Db) {
  return {
    /** The current end of the log. */
    async end(): Promise<EventPosition> {
      const { operationTime } = await db.command({ ping: 1 });
      return { ...timeOf(operationTime as Timestamp), seen: ALL_SEEN };
    },

    /** Reads the changes after a position. */
    read(from: EventPosition): ChangeReader {
      const stream: ChangeStream = db.watch(STATUS_CHANGES, {
        fullDocument: 'updateLookup',
        // Other work runs between two batches, such as sending the events.
        batchSize: BATCH_SIZE,
        startAtOperationTime: new Timestamp({ t: from.seconds, i: from.count }),
      });
      let position: EventPosition = { ...from, seen: 0 };
      let first: Promise<unknown> | undefined;

      return {
        async next() {
          const reading = stream.tryNext();
          first ??= reading;
          const change = (await reading.catch(rethrow)) as Document | null;
          if (!change) {
            const reached = positionOfToken(stream.resumeToken);
            // A token with the time of the last change is the token of this change.
            if (reached && comparePositions({ ...reached, seen: 0 }, position) > 0) position = reached;
            return { position: latest(position, from), found: null };
          }
          const time = timeOf(change.clusterTime);
          const sameTime = time.seconds === position.seconds && time.count === position.count;
          position = { ...time, seen: sameTime ? position.seen + 1 : 1 };
          const isNew = comparePositions(position, from) > 0;
          return { position: latest(position, from), found: isNew ? describeChange(change) : null };
        },
        async close() {
          // Before its first answer, the driver does not know the cursor, which would stay open in MongoDB.
          await first?.catch(() => undefined);
          await stream.close();
        },
      };
    },
  };
}

function rethrow(error: unknown): never {
  const lost = error instanceof MongoServerError && LOST.includes(Number(error.code));
  throw lost ? new EventsLostError('The log no longer has these changes.') : error;
}

const latest = (a: EventPosition, b: EventPosition) => (comparePositions(a, b) > 0 ? a : b);

function timeOf(time: Timestamp): { seconds: number; count: number } {
  return { seconds: time.getHighBitsUnsigned(), count: time.getLowBitsUnsigned() };
}

/**
 * The time up to which a stream has read, from the token that MongoDB returns when nothing has happened: the type of a
 * timestamp (0x82), then its 8 bytes. @returns null for a token in another form
 */
function positionOfToken(token: unknown): EventPosition | null {
  const data = (token as { _data?: unknown } | null)?._data;
  const [, seconds, count] = (typeof data === 'string' && /^82([0-9A-F]{8})([0-9A-F]{8})/i.exec(data)) || [];
  if (seconds === undefined || count === undefined) return null;
  return { seconds: Number.parseInt(seconds, 16), count: Number.parseInt(count, 16), seen: ALL_SEEN };
}
