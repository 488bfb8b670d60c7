import Router from '@koa/router';
import { z } from 'zod';
import { nameSchema } from '../../domain/content/databases.js';
import { ServiceError } from '../../domain/errors.js';
import { STREAMED_EVENTS } from '../../domain/events/events.js';
import { createSemaphore } from '../../domain/semaphore.js';
import { OPERATOR_NOTICE } from '../../domain/webhooks/events.js';
import { operatorNoticeSchema } from '../../domain/webhooks/operator-notices.js';
import { authenticate } from '../authenticate.js';
import { describeCallback } from '../callback-document.js';
import type { Dependencies } from '../dependencies.js';
import { contentErrors, plainEnvelope } from '../envelope.js';
import { operations } from '../operation.js';
import type { RequestState } from '../request-context.js';
import { ORGANISATION_KEY, routesOf, type Service } from '../service.js';
import { signatureHeaders } from '../webhooks/signing-secret.js';
import { createCatchUps } from './catch-ups.js';
import { createEventHub } from './hub.js';
import { type SessionDependencies, startSession } from './session.js';
import { createSink } from './sink.js';

const TAG = 'Events';

/** The callback of the operator. */
const NOTICE = describeCallback({
  operationId: 'operatorNotice',
  summary: 'Callbacks have failed for good',
  description:
    "Sent to the operator's `POSTBACK_OPERATOR_WEBHOOK_URL`: one notice for each receiver in a period, when a delivery has failed " +
    'for good, or a webhook was disabled.',
  headers: signatureHeaders,
  body: operatorNoticeSchema,
});

/** Proxies and this server close connections that are silent for a minute or two. */
const KEEP_ALIVE_MS = 10_000;
/** How often the key of an open stream is checked. */
const CHECK_KEY_MS = 30_000;
/** Milliseconds after which a client may reconnect when its stream has ended. */
const RETRY_MS = 2_000;
/** Milliseconds without an event after which a response ends, for a client that did not request a stream. */
const QUIET_MS = 2_000;

const querySchema = z.object({
  types: z
    .union([z.string(), z.array(z.string())])
    .transform((value) =>
      [value]
        .flat()
        .flatMap((part) => part.split(','))
        .filter((type) => type !== ''),
    )
    .pipe(z.array(z.enum(STREAMED_EVENTS)))
    .optional()
    .meta({
      description: `Only events of these types, repeated or separated by commas: ${STREAMED_EVENTS.map((type) => `\`${type}\``).join(', ')}.`,
    }),
  database: nameSchema
    .optional()
    .meta({ description: 'Only events of items of this database, and of their deliveries.' }),
});

const headersSchema = z.object({
  'Last-Event-ID': z
    .string()
    .optional()
    .meta({ description: 'The id of the last event that the client has read: the stream continues after it.' }),
});

/** A server-sent event, as tools that know these read it. */
const messageSchema = z
  .object({
    id: z.string(),
    event: z.enum([...STREAMED_EVENTS, 'ready', 'reset']),
    data: z.string().meta({ description: 'A JSON object as text.' }),
  })
  .meta({ description: 'An event of the stream.' });

const DESCRIPTION =
  'A stream of server-sent events: changes of the state of items, deliveries, AI jobs and crew executions, with ids and ' +
  'states only. Each event has an `id`, its type as `event`, and a JSON object as `data`. The first event is `ready`; with ' +
  '`Last-Event-ID` it comes after the events that the client has missed. When these can no longer be read, `reset` comes ' +
  'instead: read the present states from the other routes. An event may come twice after a reconnect. The stream goes on for ' +
  'clients that send `Accept: text/event-stream`, as event sources do; for others it ends when nothing has happened for two ' +
  'seconds.';

/** `GET /events`: changes in the organisation, as they happen. */
export function eventService(deps: Dependencies): Service {
  const router = new Router<RequestState>();
  const places = createSemaphore({ perOwner: deps.eventLimits?.connections });
  const sessions: SessionDependencies = {
    hub: createEventHub(deps),
    changes: deps.changes,
    resumeMs: deps.eventLimits?.resumeMs,
    catchUps: createCatchUps(),
  };

  router.get(
    '/events',
    operations(TAG, plainEnvelope)(
      {
        summary: 'Stream events',
        description: DESCRIPTION,
        query: querySchema,
        headers: headersSchema,
        response: messageSchema,
        type: 'text/event-stream',
      },
      async (ctx, { query }) => {
        ctx.status = 200;
        ctx.type = 'text/event-stream';
        // A connection of a stream is not used again. Proxies must not collect events.
        ctx.set({ 'Cache-Control': 'no-store', Connection: 'close', 'X-Accel-Buffering': 'no' });
        if (ctx.method === 'HEAD') return;
        const { org, key_id } = ctx.state.principal;
        const leave = enter(org);
        const ended = new AbortController();
        const timers: NodeJS.Timeout[] = [];
        const end = () => {
          ended.abort();
          sink.end();
        };
        let quiet: NodeJS.Timeout | undefined;
        const sink = createSink(
          () => ctx.req.socket.destroy(),
          () => quiet?.refresh(),
        );
        const finish = () => {
          end();
          leave();
          for (const timer of timers) clearInterval(timer);
        };
        if (ctx.res.closed) return finish();
        ctx.res.once('close', finish);
        ctx.body = sink.stream;
        sink.write(`retry: ${RETRY_MS}\n\n`);
        // The response starts now, even if missed events must be read first.
        const session = startSession(
          sessions,
          { org, filter: query, lastEventId: ctx.get('Last-Event-ID') || undefined },
          sink,
          { signal: ended.signal, end },
        );
        session.then(
          ({ keepAlive }) => {
            if (ended.signal.aborted) return;
            timers.push(setInterval(keepAlive, KEEP_ALIVE_MS).unref());
            // Tools that wait for a whole response would never get it.
            if (asksForStream(ctx.get('Accept'))) return;
            quiet = setTimeout(end, QUIET_MS).unref();
            timers.push(quiet);
          },
          (error) => {
            if (!ended.signal.aborted) deps.log.warn({ org, reason: error.message }, 'event stream ended');
            end();
          },
        );
        timers.push(setInterval(() => void endWithoutKey(key_id, end), CHECK_KEY_MS).unref());
      },
    ),
  );

  return {
    paths: ['/events'],
    errors: contentErrors,
    middleware: [authenticate(deps.keys, ['api', 'crew_org']), deps.rateLimit, routesOf(router)],
    document: {
      tags: [{ name: TAG, description: 'Changes in the organisation, as they happen.' }],
      security: ORGANISATION_KEY,
      webhooks: { [OPERATOR_NOTICE]: NOTICE },
    },
  };

  /** Counts a stream. @throws ServiceError RATE_LIMITED when the organisation has too many, SERVICE_UNAVAILABLE at shutdown */
  function enter(org: string): () => void {
    if (deps.stopping.aborted)
      throw new ServiceError('SERVICE_UNAVAILABLE', 'The server is stopping.', { retryAfterSeconds: 1 });
    const leave = places.tryAcquire(org);
    if (leave) return leave;
    const { connections } = deps.eventLimits;
    throw new ServiceError('RATE_LIMITED', `The organisation has ${connections} open event streams already.`, {
      retryAfterSeconds: 30,
    });
  }

  /** A key that has been revoked or has expired must not read on. */
  async function endWithoutKey(keyId: string, end: () => void): Promise<void> {
    // An error of the database says nothing about the key.
    const active = await deps.keys.isActive(keyId).catch(() => true);
    if (!active) end();
  }
}

function asksForStream(accept: string): boolean {
  return accept.toLowerCase().includes('text/event-stream');
}
