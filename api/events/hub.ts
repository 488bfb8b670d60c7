import { setImmediate } from 'node:timers/promises';
import type { Logger } from 'pino';
import type { StreamedEvent } from '../../domain/events/events.js';
import { type EventPosition, eventId } from '../../domain/events/position.js';
import type { Change, ChangeLog, ChangeReader } from '../../storage/events/changes.js';

/** An event with its place in the stream, and as it is sent. */
export interface Frame {
  position: EventPosition;
  event: StreamedEvent;
  text: string;
}

export interface Listener {
  receive(frame: Frame): void;
  /** No more events will be sent. */
  end(): void;
}

/** A listener's place among the others. */
export interface Membership {
  /** Every later event is received. */
  from: EventPosition;
  /** The position up to which the events of all organisations have been read. */
  position(): EventPosition;
  leave(): void;
}

/** One change stream, and who listens to it. */
interface Feed {
  reader: ChangeReader;
  position: EventPosition;
  listeners: Map<string, Set<Listener>>;
  closed: boolean;
}

export type EventHub = ReturnType<typeof createEventHub>;

/**
 * Passes the events of one change stream on to the listeners of each organisation. The stream is open only while somebody
 * listens.
 * @param stopping ends all listeners when it aborts
 */
export function createEventHub({ changes, log, stopping }: { changes: ChangeLog; log: Logger; stopping: AbortSignal }) {
  let current: Promise<Feed> | null = null;

  async function open(): Promise<Feed> {
    const position = await changes.end();
    const feed: Feed = { reader: changes.read(position), position, listeners: new Map(), closed: false };
    const stop = () => close(feed);
    stopping.addEventListener('abort', stop, { once: true });
    void pump(feed).finally(() => stopping.removeEventListener('abort', stop));
    return feed;
  }

  /** Reads until the feed is closed. When it cannot continue, clients reconnect at their positions. */
  async function pump(feed: Feed): Promise<void> {
    try {
      while (!feed.closed) {
        const change = await feed.reader.next();
        dispatch(feed, change);
        // Lets the event leave before the next of a batch is written.
        if (change.found) await setImmediate();
      }
    } catch (error) {
      if (!feed.closed) log.warn({ reason: (error as Error).message }, 'event streams ended: clients will reconnect');
    } finally {
      close(feed);
    }
  }

  function close(feed: Feed): void {
    if (feed.closed) return;
    feed.closed = true;
    current = null;
    feed.reader.close().catch((error) => log.debug({ reason: error.message }, 'change stream not closed'));
    for (const listener of [...feed.listeners.values()].flatMap((set) => [...set])) listener.end();
  }

  return {
    /** Listens to the events of an organisation. */
    async join(org: string, listener: Listener): Promise<Membership> {
      let feed: Feed;
      do {
        stopping.throwIfAborted();
        current ??= open().catch((error) => {
          current = null;
          throw error;
        });
        feed = await current;
      } while (feed.closed);
      const listeners = feed.listeners.get(org) ?? new Set();
      feed.listeners.set(org, listeners.add(listener));
      return {
        from: feed.position,
        position: () => feed.position,
        leave() {
          listeners.delete(listener);
          if (listeners.size === 0) feed.listeners.delete(org);
          if (feed.listeners.size === 0) close(feed);
        },
      };
    },
  };
}

function dispatch(feed: Feed, { position, found }: Change): void {
  const listeners = found && feed.listeners.get(found.org);
  if (listeners) {
    const frame = frameOf(position, found.event);
    for (const listener of [...listeners]) listener.receive(frame);
  }
  feed.position = position;
}

export function frameOf(position: EventPosition, event: StreamedEvent): Frame {
  return {
    position,
    event,
    text: `id: ${eventId(position)}\nevent: ${event.event}\ndata: ${JSON.stringify(event)}\n\n`,
  };
}
