import { bodyOf, type Schemas } from '../../client/index.js';
import { DELIVERY_STATE_TABLE, RETRYABLE_DELIVERY_STATES } from '../../domain/webhooks/states.js';
import { type DeliveryEvent, describeEvent, readEvents } from './events.js';
import { fields, localTime, paintState, print, table } from './output.js';
import { findServer, listOf, type Server, type ServerOptions } from './server.js';

/** Whose deliveries: those of all services, or of items, AI jobs or a crew only. */
interface ServiceOptions extends ServerOptions {
  items?: boolean;
  jobs?: boolean;
  crew?: string;
}

interface ListOptions extends ServiceOptions {
  status?: Schemas['Delivery']['status'];
  docId?: string;
  limit: number;
}

interface Query {
  status?: Schemas['Delivery']['status'];
  doc_id?: string;
  cursor?: string;
  limit?: number;
}

/** `postback deliveries list` */
export async function listDeliveries({ status, docId, limit, ...options }: ListOptions): Promise<void> {
  const { list } = routes(findServer(options), options);
  const deliveries = await listOf('deliveries', (cursor?: string) => list({ status, doc_id: docId, cursor }), limit);
  const rows = deliveries.map((delivery) => ({
    delivery: delivery.delivery_id,
    event: delivery.event_type,
    of: delivery.doc_id,
    status: paintState(DELIVERY_STATE_TABLE, delivery.status),
    attempts: delivery.attempts,
    error: delivery.error_code,
    updated: localTime(delivery.updated_at),
  }));
  const [first] = deliveries;
  const next = first ? ['deliveries', 'show', first.delivery_id, ...ofCrew(options)] : ['listen', '--register'];
  print({ ...options, next }, { deliveries }, () => table(rows));
}

/** `postback deliveries show`: prints a delivery with its attempts and its payload. */
export async function showDelivery(id: string, options: ServiceOptions): Promise<void> {
  const server = findServer(options);
  const delivery = await routes(server, options).show(id);
  const isRetryable = RETRYABLE_DELIVERY_STATES.some((state) => state === delivery.status);
  const next = isRetryable && ['deliveries', 'retry', id, ...ofCrew(options)];
  print({ ...options, next }, delivery, () => {
    const { attempt_log, payload, status, created_at, updated_at, next_attempt_at, workflow, ...others } = delivery;
    const rows = attempt_log.map(({ at, status_code, duration_ms, error, answer }) => ({
      attempt: localTime(at),
      status: status_code,
      took: `${duration_ms} ms`,
      error,
      response: answer?.slice(0, 60),
    }));
    const ui = server.temporalUiUrl ? `${server.temporalUiUrl}/namespaces/default/workflows/${workflow}` : workflow;
    const times = { created: localTime(created_at), updated: localTime(updated_at), next: localTime(next_attempt_at) };
    return [
      fields({ ...others, status: paintState(DELIVERY_STATE_TABLE, status), ...times, workflow: ui }),
      table(rows),
      ...(payload === null ? [] : [JSON.stringify(payload, null, 2)]),
    ].join('\n\n');
  });
}

/** `postback deliveries retry` */
export async function retryDelivery(id: string, options: ServiceOptions): Promise<void> {
  const result = await routes(findServer(options), options).retry(id);
  print({ ...options, next: ['deliveries', 'show', id, ...ofCrew(options)] }, result, () => result.message);
}

/** `postback deliveries tail`: prints each delivery when its state changes, until Ctrl-C. */
export async function tailDeliveries({ items, jobs, crew, ...options }: ServiceOptions): Promise<void> {
  const client = findServer(options).client(crew === undefined ? 'api' : 'crew_org');
  const isWanted = (event: DeliveryEvent) => {
    if (crew !== undefined) return event.crew === crew;
    if (jobs) return event.event_type === 'async_job_completed';
    return !items || event.event_type === 'indexing.status_changed';
  };
  for await (const event of readEvents(client, { types: ['delivery.status_changed'] })) {
    if (event.event === 'reset') console.error(`Earlier deliveries are not shown: ${event.reason}`);
    if (event.event !== 'delivery.status_changed' || !isWanted(event)) continue;
    if (options.json) console.log(JSON.stringify(event));
    else console.log(describeEvent(event));
  }
}

const ofCrew = ({ crew }: ServiceOptions) => (crew === undefined ? [] : ['--crew', crew]);

/** The path of the deliveries of all services, or of one. Their routes take and return the same. */
function pathOf({ items, jobs, crew }: ServiceOptions): '/deliveries' {
  if (crew !== undefined) return '/crews/{crew}/callbacks' as '/deliveries';
  if (jobs) return '/v3/ai/callbacks' as '/deliveries';
  return items ? ('/webhooks/indexing/deliveries' as '/deliveries') : '/deliveries';
}

function routes(server: Server, options: ServiceOptions) {
  const { items, jobs, crew } = options;
  const path = pathOf(options);
  const client = server.client(crew === undefined ? 'api' : 'crew_org');
  const parameters = (delivery_id: string) => ({ params: { path: { crew, delivery_id } } });
  return {
    async list(query: Query) {
      return contentOf(await bodyOf(client.GET(path, { params: { path: { crew }, query } as { query: Query } })));
    },
    async show(delivery_id: string) {
      const call = parameters(delivery_id);
      const delivery = contentOf(await bodyOf(client.GET(`${path}/{delivery_id}`, call)));
      // The body of a crew's callback is for keys of crews.
      const isOfAll = crew === undefined && !jobs && !items;
      if (!isOfAll || delivery.crew === undefined || !server.hasKey('crew_org')) return delivery;
      return contentOf(await bodyOf(server.client('crew_org').GET(`${path}/{delivery_id}`, call)));
    },
    async retry(delivery_id: string) {
      return contentOf(await bodyOf(client.POST(`${path}/{delivery_id}/retry`, parameters(delivery_id))));
    },
  };
}

/** What a response has: the services of AI jobs and crews have no envelope around it. */
function contentOf<Content>(body: { data: Content }): Content {
  return 'data' in body ? body.data : (body as Content);
}
