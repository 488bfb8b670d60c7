import { setTimeout as wait } from 'node:timers/promises';
import { bodyOf, type Postback, type Schemas } from '../../client/index.js';
import { fields, localTime, paint, paintState, print, table } from './output.js';
import { collect, everyEntry, findServer, type Server, type ServerOptions } from './server.js';

/** Whose deliveries: those of items, else of AI jobs, or of a crew. */
interface ServiceOptions extends ServerOptions {
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

const POLL_MS = 1_000;
/** How many of the newest deliveries `tail` looks at. */
const NEWEST = 50;

/** `postback deliveries list` */
export async function listDeliveries({ status, docId, limit, ...options }: ListOptions): Promise<void> {
  const { list } = routes(findServer(options), options);
  const deliveries = await collect(everyEntry((cursor) => list({ status, doc_id: docId, cursor }), limit));
  const rows = deliveries.map(({ delivery_id, doc_id, status, attempts, error_code, updated_at }) => {
    return [delivery_id, doc_id, paintState(status), attempts, error_code, localTime(updated_at)];
  });
  const head = ['delivery', 'of', 'status', 'attempts', 'error', 'updated'];
  print({ json: options.json, data: { deliveries } }, () => table(head, rows));
}

/** `postback deliveries show`: prints a delivery with its attempts and its payload. */
export async function showDelivery(id: string, options: ServiceOptions): Promise<void> {
  const server = findServer(options);
  const delivery = await routes(server, options).show(id);
  print({ json: options.json, data: delivery }, () => {
    const { attempt_log, payload, status, created_at, updated_at, next_attempt_at, workflow, ...others } = delivery;
    const rows = attempt_log.map(({ at, status_code, duration_ms, error, answer }) => {
      return [localTime(at), status_code, `${duration_ms} ms`, error, answer?.slice(0, 60)];
    });
    const ui = server.temporalUiUrl ? `${server.temporalUiUrl}/namespaces/default/workflows/${workflow}` : workflow;
    const times = { created: localTime(created_at), updated: localTime(updated_at), next: localTime(next_attempt_at) };
    return [
      fields({ ...others, status: paintState(status), ...times, workflow: ui }),
      table(['attempt', 'status', 'took', 'error', 'response'], rows),
      ...(payload === null ? [] : [JSON.stringify(payload, null, 2)]),
    ].join('\n\n');
  });
}

/** `postback deliveries retry` */
export async function retryDelivery(id: string, options: ServiceOptions): Promise<void> {
  const result = await routes(findServer(options), options).retry(id);
  print({ json: options.json, data: result }, () => result.message);
}

/** `postback deliveries tail`: prints each delivery when it changes, until Ctrl-C. */
export async function tailDeliveries(options: ServiceOptions): Promise<void> {
  const { list } = routes(findServer(options), options);
  const seen = new Map<string, string>();
  for (let first = true; ; first = false) {
    const { entries } = await list({ limit: NEWEST });
    for (const delivery of entries.toReversed()) {
      const { delivery_id, doc_id, status, attempts, error_code, updated_at } = delivery;
      const changed = seen.get(delivery_id) !== updated_at;
      seen.set(delivery_id, updated_at);
      if (!changed || first) continue;
      if (options.json) console.log(JSON.stringify(delivery));
      else
        console.log(
          `${localTime(updated_at)}  ${paintState(status)}  ${doc_id}  attempt ${attempts}  ${paint('red', error_code ?? '')}`,
        );
    }
    await wait(POLL_MS);
  }
}

/** The routes for deliveries, which each service has under its own path. */
function routes(server: Server, { jobs, crew }: ServiceOptions) {
  if (crew !== undefined) return crewRoutes(server.client('crew_org'), crew);
  return jobs ? jobRoutes(server.client()) : indexingRoutes(server.client());
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
