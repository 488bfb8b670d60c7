/** Events as they happen, which clients read as a stream: changes of state and deletions, with ids and never content. */
import { z } from 'zod';
import { JOB_STATUSES } from '../ai-jobs/states.js';
import { INDEXING_STATUSES } from '../content/states.js';
import { EXECUTION_STATUSES } from '../crews/states.js';
import { CALLBACK_EVENTS } from '../webhooks/events.js';
import { DELIVERY_STATES } from '../webhooks/states.js';

const common = { error_code: z.string().optional(), timestamp: z.iso.datetime() };

/** The data of an event. Fields have the names that webhooks and callbacks use. */
const streamedEventSchema = z
  .discriminatedUnion('event', [
    z.object({
      event: z.literal('indexing.status_changed'),
      id: z.string(),
      database: z.string(),
      collection: z.string(),
      status: z.enum(INDEXING_STATUSES),
      ...common,
    }),
    z.object({
      event: z.literal('item.deleted'),
      id: z.string(),
      database: z.string(),
      collection: z.string(),
      timestamp: z.iso.datetime(),
    }),
    z.object({
      event: z.literal('delivery.status_changed'),
      delivery_id: z.string(),
      event_type: z.enum(CALLBACK_EVENTS),
      doc_id: z.string().meta({ description: 'The item, job, execution or authentication that it reports.' }),
      /** The database of an item. */
      database: z.string().optional(),
      /** The crew of an execution. */
      crew: z.string().optional(),
      status: z.enum(DELIVERY_STATES),
      ...common,
    }),
    z.object({
      event: z.literal('job.status_changed'),
      job_id: z.string(),
      feature: z.string(),
      subfeature: z.string(),
      status: z.enum(JOB_STATUSES),
      ...common,
    }),
    z.object({
      event: z.literal('execution.status_changed'),
      execution_id: z.string(),
      crew: z.string(),
      status: z.enum(EXECUTION_STATUSES),
      ...common,
    }),
    z.object({
      event: z.literal('webhook.disabled'),
      reason: z.string().meta({ description: 'Register the webhook again to enable it.' }),
      timestamp: z.iso.datetime(),
    }),
  ])
  .meta({ id: 'StreamedEvent' });
export type StreamedEvent = z.output<typeof streamedEventSchema>;
export type StreamedEventType = StreamedEvent['event'];
export const STREAMED_EVENTS = streamedEventSchema.options.map(({ shape }) => shape.event.value);

/** What a client asks for. An absent field matches every event. */
export interface EventFilter {
  types?: readonly StreamedEventType[] | undefined;
  /** The name of a database; only events of items and of their deliveries have one. */
  database?: string | undefined;
}

export function matchesFilter(event: StreamedEvent, { types, database }: EventFilter): boolean {
  if (types && !types.includes(event.event)) return false;
  return database === undefined || ('database' in event && event.database === database);
}
