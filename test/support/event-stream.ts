import { createParser, type EventSourceMessage } from 'eventsource-parser';
import type { StreamedEvent } from '../../domain/events/events.js';
import { eventually } from './eventually.js';

export interface ReceivedEvent extends EventSourceMessage {
  // biome-ignore lint/suspicious/noExplicitAny: tests read fields of several types of events
  json: any;
}

export type EventStream = Awaited<ReturnType<typeof openEvents>>;

/** Reads `GET /events` as any client would. */
export async function openEvents(
  apiUrl: string,
  key: string,
  { query = '', lastEventId }: { query?: string; lastEventId?: string | undefined } = {},
) {
  const abort = new AbortController();
  const response = await fetch(`${apiUrl}/events${query}`, {
    headers: {
      Authorization: `Bearer ${key}`,
      Accept: 'text/event-stream',
      ...(lastEventId === undefined ? {} : { 'Last-Event-ID': lastEventId }),
    },
    signal: abort.signal,
  });
  if (response.status !== 200) throw new Error(`GET /events: ${response.status} ${await response.text()}`);
  const events: ReceivedEvent[] = [];
  const parser = createParser({ onEvent: (event) => events.push({ ...event, json: JSON.parse(event.data) }) });
  const ended = readAll(response.body!, (text) => parser.feed(text));

  const stream = {
    headers: response.headers,
    /** All events so far, with `ready` and `reset`. */
    events,
    /** Resolves at the end of the response, however it ends. */
    ended,
    data: () =>
      events.filter(({ event }) => event !== 'ready' && event !== 'reset').map(({ json }) => json as StreamedEvent),
    find: (what: string, isIt: (event: ReceivedEvent) => boolean) => eventually(what, () => events.find(isIt)),
    ready: () => stream.find('ready or reset', ({ event }) => event === 'ready' || event === 'reset'),
    async close() {
      abort.abort();
      await ended;
    },
  };
  return stream;
}

async function readAll(body: ReadableStream<Uint8Array>, take: (text: string) => void): Promise<void> {
  const decoder = new TextDecoder();
  try {
    for await (const piece of body) take(decoder.decode(piece, { stream: true }));
  } catch {
    // The connection was cut, by this side or by the other.
  }
}
