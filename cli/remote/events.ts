import { setTimeout as wait } from 'node:timers/promises';
import { EventSourceParserStream } from 'eventsource-parser/stream';
import { bodyOf, type Postback, PostbackError } from '../../client/index.js';
import { JOB_STATUS_TABLE } from '../../domain/ai-jobs/states.js';
import { INDEXING_STATUS_TABLE } from '../../domain/content/states.js';
import { EXECUTION_STATUS_TABLE } from '../../domain/crews/states.js';
import type { StreamedEvent, StreamedEventType } from '../../domain/events/events.js';
import { DELIVERY_STATE_TABLE } from '../../domain/webhooks/states.js';
import { localTime, paint, paintState } from './output.js';
import { findServer, type ServerOptions } from './server.js';

interface EventOptions extends ServerOptions {
  types?: StreamedEventType[];
  database?: string;
}

const RECONNECT_MS = 2_000;

/** `postback events`: prints changes as they happen, until Ctrl-C. Continues where it was when the connection breaks. */
export async function tailEvents({ types, database, ...options }: EventOptions): Promise<void> {
  const client = findServer(options).client();
  for await (const event of readEvents(client, { types, database })) {
    if (options.json) console.log(JSON.stringify(event));
    else if (event.event === 'reset') console.log(paint('red', `Earlier events are lost: ${event.reason}`));
    else if (event.event !== 'ready') console.log(describeEvent(event));
  }
}

type Control = { event: 'ready' } | { event: 'reset'; reason: string };

/**
 * The new events of the organisation; `ready` when the stream is open.
 * @throws PostbackError when the server rejects the first request
 */
export async function* readEvents(
  client: Postback,
  query: Pick<EventOptions, 'types' | 'database'>,
): AsyncGenerator<StreamedEvent | Control> {
  let lastEventId: string | undefined;
  for (let first = true; ; first = false) {
    try {
      const params = { query, header: lastEventId === undefined ? {} : { 'Last-Event-ID': lastEventId } };
      const headers = { Accept: 'text/event-stream' };
      const stream = await bodyOf(client.GET('/events', { params, headers, parseAs: 'stream' }));
      const messages = (stream as unknown as ReadableStream<Uint8Array<ArrayBuffer>>)
        .pipeThrough(new TextDecoderStream())
        .pipeThrough(new EventSourceParserStream());
      for await (const { id, event, data } of messages) {
        lastEventId = id ?? lastEventId;
        yield { event, ...JSON.parse(data) };
      }
    } catch (error) {
      // A server that restarts is available again soon.
      if (first || isRejection(error)) throw error;
    }
    await wait(RECONNECT_MS);
  }
}

function isRejection(error: unknown): boolean {
  return error instanceof PostbackError && error.status < 500 && error.status !== 429;
}

export type DeliveryEvent = Extract<StreamedEvent, { event: 'delivery.status_changed' }>;

const TABLES = {
  'indexing.status_changed': INDEXING_STATUS_TABLE,
  'delivery.status_changed': DELIVERY_STATE_TABLE,
  'job.status_changed': JOB_STATUS_TABLE,
  'execution.status_changed': EXECUTION_STATUS_TABLE,
};

/** An event on one line. */
export function describeEvent(event: StreamedEvent): string {
  const state = 'status' in event ? paintState(TABLES[event.event], event.status) : event.event.split('.')[1]!;
  const error = 'error_code' in event ? paint('red', event.error_code ?? '') : '';
  const parts = [localTime(event.timestamp), state, ...subjectOf(event), error];
  return parts.filter((part) => part !== '').join('  ');
}

/** What the event is about. */
function subjectOf(event: StreamedEvent): string[] {
  switch (event.event) {
    case 'indexing.status_changed':
    case 'item.deleted':
      return ['item', `${event.database}/${event.collection}/${event.id}`];
    case 'delivery.status_changed':
      return ['delivery', event.delivery_id, `${event.event_type} of ${event.doc_id}`];
    case 'job.status_changed':
      return ['job', event.job_id, `${event.feature}/${event.subfeature}`];
    case 'execution.status_changed':
      return ['crew', event.crew, event.execution_id];
    case 'webhook.disabled':
      return ['webhook', event.reason];
  }
}
