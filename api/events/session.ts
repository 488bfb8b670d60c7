import { type EventFilter, matchesFilter } from '../../domain/events/events.js';
import { comparePositions, type EventPosition, eventId, parseEventId } from '../../domain/events/position.js';
import { type ChangeLog, EventsLostError } from '../../storage/events/changes.js';
import type { CatchUps, Step } from './catch-ups.js';
import { type EventHub, type Frame, frameOf, type Membership } from './hub.js';
import type { Sink } from './sink.js';

/** Events that may wait while earlier ones are read from the log. A client that gets more in this time is disconnected. */
const MAX_HELD = 2_000;

export interface SessionDependencies {
  hub: EventHub;
  changes: ChangeLog;
  catchUps: CatchUps;
  /** How long events can be read after they happened, in milliseconds. */
  resumeMs: number;
}

export interface Session {
  /** Sends the current position to a client without new events. */
  keepAlive(): void;
}

/**
 * Sends the events of an organisation: those after the client's position, then `ready`, then each as it happens. When the
 * position is not known or too old, `reset` is sent instead: the client then reads the current states.
 * @param lastEventId undefined for a client that starts
 * @param signal ends the session
 * @param end disconnects the client, which may reconnect with its position
 */
export async function startSession(
  deps: SessionDependencies,
  { org, filter, lastEventId }: { org: string; filter: EventFilter; lastEventId: string | undefined },
  sink: Sink,
  { signal, end }: { signal: AbortSignal; end(): void },
): Promise<Session> {
  let sent: EventPosition | null = null;
  let held: Frame[] | null = [];

  const send = (frame: Frame) => {
    if (sent && comparePositions(frame.position, sent) <= 0) return;
    sent = frame.position;
    if (matchesFilter(frame.event, filter)) sink.write(frame.text);
  };
  const membership = await deps.hub.join(org, {
    receive(frame) {
      if (!held) return send(frame);
      held.push(frame);
      if (held.length > MAX_HELD) end();
    },
    end,
  });
  // The client may have gone while the stream was opened.
  if (signal.aborted) membership.leave();
  else signal.addEventListener('abort', membership.leave, { once: true });

  async function catchUp({ from: until }: Membership): Promise<string | null> {
    if (lastEventId === undefined) return null;
    const from = parseEventId(lastEventId);
    if (!from) return 'This is not the id of an event.';
    if (from.seconds > until.seconds) return 'This position is in the future.';
    if ((until.seconds - from.seconds) * 1000 > deps.resumeMs) return 'This position is too old.';
    try {
      await deps.catchUps.run(org, signal, (step, limited) => sendEarlier(from, until, step, limited));
      return null;
    } catch (error) {
      if (error instanceof EventsLostError) return 'This position is too old.';
      throw error;
    }
  }

  async function sendEarlier(
    from: EventPosition,
    until: EventPosition,
    step: Step,
    limited: AbortSignal,
  ): Promise<void> {
    sent = from;
    if (comparePositions(from, until) >= 0) return;
    const reader = deps.changes.read(from);
    try {
      for (let reached = from; comparePositions(reached, until) < 0; ) {
        limited.throwIfAborted();
        const { position, found } = await step(() => reader.next());
        reached = position;
        if (found?.org === org) send(frameOf(position, found.event));
        await sink.drained(limited);
      }
    } finally {
      await reader.close();
    }
  }

  const reason = await catchUp(membership);
  const position = sent && comparePositions(sent, membership.from) > 0 ? sent : membership.from;
  if (reason === null) sink.write(control('ready', position, {}));
  else sink.write(control('reset', position, { reason }));
  sent = position;
  for (const frame of held) send(frame);
  held = null;

  return { keepAlive: () => sink.write(`: keep-alive\nid: ${eventId(membership.position())}\n\n`) };
}

function control(event: 'ready' | 'reset', position: EventPosition, data: object): string {
  return `id: ${eventId(position)}\nevent: ${event}\ndata: ${JSON.stringify(data)}\n\n`;
}
