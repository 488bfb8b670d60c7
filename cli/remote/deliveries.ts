import { bodyOf, type Postback, type Schemas } from '../../client/index.js';
import { DELIVERY_STATE_TABLE, RETRYABLE_DELIVERY_STATES } from '../../domain/webhooks/states.js';
import { type DeliveryEvent, describeEvent, readEvents } from './events.js';
import { commandFor, fields, localTime, paintState, print, table } from './output.js';
import { collect, everyEntry, findServer, type Server, type ServerOptions } from './server.js';

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
  const deliveries = await collect(everyEntry((cursor) => list({ status, doc_id: docId, cursor }), limit));
  const rows = deliveries.map(({ delivery_id, event_type, doc_id, status, attempts, error_code, updated_at }) => {
    return [
      delivery_id,
      event_type,
      doc_id,
      paintState(DELIVERY_STATE_TABLE, status),
      attempts,
      error_code,
      localTime(updated_at),
    ];
  });
  const head = ['delivery', 'event', 'of', 'status', 'attempts', 'error', 'updated'];
  const [first] = deliveries;
  const ways = first ? ['deliveries', 'show', first.delivery_id, ...ofCrew(options)] : ['listen', '--register'];
  print({ json: options.json, data: { deliveries }, next: commandFor(options, ...ways) }, () => table(head, rows));
}

/** `postback deliveries show`: prints a delivery with its attempts and its payload. */
export async function showDelivery(id: string, options: ServiceOptions): Promise<void> {
  const server = findServer(options);
  const delivery = await routes(server, options).show(id);
  const retry =
    RETRYABLE_DELIVERY_STATES.some((state) => state === delivery.status) &&
    commandFor(options, 'deliveries', 'retry', id, ...ofCrew(options));
  print({ json: options.json, data: delivery, next: retry }, () => {
    const { attempt_log, payload, status, created_at, updated_at, next_attempt_at, workflow, ...others } = delivery;
    const rows = attempt_log.map(({ at, status_code, duration_ms, error, answer }) => {
      return [localTime(at), status_code, `${duration_ms} ms`, error, answer?.slice(0, 60)];
    });
    const ui = server.temporalUiUrl ? `${server.temporalUiUrl}/namespaces/default/workflows/${workflow}` : workflow;
    const times = { created: localTime(created_at), updated: localTime(updated_at), next: localTime(next_attempt_at) };
    return [
      fields({ ...others, status: paintState(DELIVERY_STATE_TABLE, status), ...times, workflow: ui }),
      table(['attempt', 'status', 'took', 'error', 'response'], rows),
      ...(payload === null ? [] : [JSON.stringify(payload, null, 2)]),
    ].join('\n\n');
  });
}

/** `postback deliveries retry` */
export async function retryDelivery(id: string, options: ServiceOptions): Promise<void> {
  const result = await routes(findServer(options), options).retry(id);
  const next = commandFor(options, 'deliveries', 'show', id, ...ofCrew(options));
  print({ json: options.json, data: result, next }, () => result.message);
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

/** The routes for deliveries: of all services, and those that each service has under its own path. */
function routes(server: Server, { items, jobs, crew }: ServiceOptions) {
  if (crew !== undefined) return crewRoutes(server.client('crew_org'), crew);
  if (jobs) return jobRoutes(server.client());
  return items ? indexingRoutes(server.client()) : allRoutes(server);
}

function allRoutes(server: Server) {
  const client = server.client();
  return {
    async list(query: Query) {
      const { data } = await bodyOf(client.GET('/deliveries', { params: { query } }));
      return { entries: data.deliveries, next: data.next_cursor };
    },
    async show(delivery_id: string) {
      const path = { params: { path: { delivery_id } } };
      const { data } = await bodyOf(client.GET('/deliveries/{delivery_id}', path));
      // The body of a crew's callback is for keys of crews.
      if (data.crew === undefined || !server.hasKey('crew_org')) return data;
      return (await bodyOf(server.client('crew_org').GET('/deliveries/{delivery_id}', path))).data;
    },
    async retry(delivery_id: string) {
      return (await bodyOf(client.POST('/deliveries/{delivery_id}/retry', { params: { path: { delivery_id } } }))).data;
    },
  };
}

function indexingRoutes(client: Postback) {
  const path = '/webhooks/indexing/deliveries';
  return {
    async list(query: Query) {
      const { data } = await bodyOf(client.GET(path, { params: { query } }));
      return { entries: data.deliveries, next: data.next_cursor };
    },
    async show(delivery_id: string) {
      return (await bodyOf(client.GET(`${path}/{delivery_id}`, { params: { path: { delivery_id } } }))).data;
    },
    async retry(delivery_id: string) {
      return (await bodyOf(client.POST(`${path}/{delivery_id}/retry`, { params: { path: { delivery_id } } }))).data;
    },
  };
}

function jobRoutes(client: Postback) {
  const path = '/v3/ai/callbacks';
  return {
    async list(query: Query) {
      const data = await bodyOf(client.GET(path, { params: { query } }));
      return { entries: data.deliveries, next: data.next_cursor };
    },
    show: (delivery_id: string) => bodyOf(client.GET(`${path}/{delivery_id}`, { params: { path: { delivery_id } } })),
    retry: (delivery_id: string) =>
      bodyOf(client.POST(`${path}/{delivery_id}/retry`, { params: { path: { delivery_id } } })),
  };
}

function crewRoutes(client: Postback, crew: string) {
  const path = '/crews/{crew}/callbacks';
  return {
    async list(query: Query) {
      const data = await bodyOf(client.GET(path, { params: { path: { crew }, query } }));
      return { entries: data.deliveries, next: data.next_cursor };
    },
    show: (delivery_id: string) =>
      bodyOf(client.GET(`${path}/{delivery_id}`, { params: { path: { crew, delivery_id } } })),
    retry: (delivery_id: string) =>
      bodyOf(client.POST(`${path}/{delivery_id}/retry`, { params: { path: { crew, delivery_id } } })),
  };
}
