import { readFileSync } from 'node:fs';
import { beforeAll, describe, expect, test } from '@jest/globals';
import { Worker } from '@temporalio/worker';
import { pino } from 'pino';
import { readConfig } from '../runtime/config.js';
import { startTracing } from '../runtime/tracing.js';
import { connectTemporal } from '../temporal/connection.js';
import { workflowBundle } from '../worker/bundle.js';
import { installTemporalLogger } from '../worker/logging.js';
import { clientDuringTests, duringTests, processesDuringTests, receiverDuringTests } from './support/during-tests.js';
import { eventually } from './support/eventually.js';
import { startHttpServer } from './support/http-server.js';
import { listedWorkflows } from './support/listed-workflows.js';
import { startApi } from './support/product.js';

interface Span {
  traceId: string;
  spanId: string;
  parentSpanId?: string;
  name: string;
  attributes: { key: string; value: Record<string, string | number> }[];
  links?: { traceId: string; spanId: string }[];
}

/** A collector that stores the spans it is sent (OTLP over HTTP, in JSON). */
async function startCollector() {
  const spans: Span[] = [];
  const services = new Set<string>();
  const server = await startHttpServer(async (request, response) => {
    let body = '';
    for await (const piece of request) body += piece;
    if (request.url === '/v1/traces') {
      for (const { resource, scopeSpans } of JSON.parse(body).resourceSpans) {
        services.add(attributeOf(resource, 'service.name') as string);
        for (const scope of scopeSpans) spans.push(...scope.spans);
      }
    }
    response.setHeader('Content-Type', 'application/json').end('{}');
  });
  return { ...server, spans, services };
}

function attributeOf({ attributes }: Pick<Span, 'attributes'>, key: string): unknown {
  const found = attributes.find((attribute) => attribute.key === key)?.value;
  return found && Object.values(found)[0];
}

describe('traces', () => {
  const NAMESPACE = 'tracing';
  const TEXT = 'A sentence that only the note has: quadrilateral.';
  const TRACE = '4bf92f3577b34da6a3ce929d0e0e4736';
  const collector = duringTests(startCollector);
  const product = processesDuringTests(NAMESPACE, () => ({
    OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
    POSTBACK_EMBEDDINGS: 'off',
    POSTBACK_TRUSTED_PROXIES: '127.0.0.0/8,::1/128',
  }));
  const api = clientDuringTests('traced', product);
  const receiver = receiverDuringTests();
  beforeAll(async () => {
    await api.createDatabase('traced');
    await api.post('/webhooks/indexing', { url: `${receiver.url}?token=in-the-url` });
  });

  const named = (traceId: string, name: string | RegExp) =>
    collector.spans.filter((span) => span.traceId === traceId && span.name.match(name));
  const ancestors = (span: Span): string[] => {
    const parent = collector.spans.find(({ spanId }) => spanId === span.parentSpanId);
    return parent ? [parent.name, ...ancestors(parent)] : [];
  };
  const delivered = (source: string) =>
    eventually(`span of the delivery of ${source}`, () =>
      collector.spans.find(
        (span) => span.name.startsWith('Deliver ') && attributeOf(span, 'postback.source') === source,
      ),
    );

  test('one trace leads from the request through the workflows to the delivery', async () => {
    await api.ingest({ database: 'traced', memories: JSON.stringify([{ id: 'note', text: TEXT }]) });
    const delivery = await delivered('note');
    const { traceId } = delivery;
    // The processes send their spans on their own, in any order.
    await eventually('the spans between', () => {
      expect(ancestors(delivery)).toEqual([
        expect.stringMatching(/^RunActivity:/),
        expect.stringMatching(/^RunWorkflow:indexItems/),
        expect.stringMatching(/^StartWorkflow:indexItems/),
        'POST /context/ingest',
      ]);
      expect(named(traceId, /^RunWorkflow:deliverWebhook/)).toHaveLength(1);
      return true;
    });
    expect([...collector.services].sort()).toEqual(['postback-api', 'postback-worker']);
    expect(attributeOf(delivery, 'postback.delivery')).toMatch(/^dlv_/);
    expect(attributeOf(delivery, 'http.response.status_code')).toBe(204);
    const items = named(traceId, 'RunActivity:indexTogether').map((span) => attributeOf(span, 'postback.items'));
    expect(items).toEqual([{ values: [{ stringValue: expect.stringMatching(/^itm_/) }] }]);
  });

  test('a trace of a client that is not trusted does not continue, but is linked', async () => {
    const settings = { OTEL_EXPORTER_OTLP_ENDPOINT: collector.url, POSTBACK_TRUSTED_PROXIES: '' };
    const open = await startApi({ ...product, apiUrl: product.apiUrl }, settings);
    const foreign = '0af7651916cd43dd8448eb211c80319c';
    const headers = { Authorization: 'Bearer x', traceparent: `00-${foreign}-b7ad6b7169203331-01` };
    await fetch(`${open.apiUrl}/databases`, { headers });
    const span = await eventually('span of the request', () =>
      collector.spans.find(({ links }) => links?.some(({ traceId }) => traceId === foreign)),
    );
    expect(span.traceId).not.toBe(foreign);
    expect(span.parentSpanId).toBeFalsy();
    await open.stop();
  });

  test('a trace of a trusted client continues, and the log names it', async () => {
    const response = await fetch(`${product.apiUrl}/databases`, {
      headers: {
        Authorization: `Bearer ${api.key}`,
        'API-Version': '2',
        traceparent: `00-${TRACE}-00f067aa0ba902b7-01`,
      },
    });
    expect(response.status).toBe(200);
    const [span] = await eventually('span of the request', () => {
      const found = named(TRACE, 'GET /databases');
      return found.length > 0 && found;
    });
    expect(span).toMatchObject({ parentSpanId: '00f067aa0ba902b7' });
    await eventually('the line of the request has the ids', () =>
      readFileSync(`${product.dataDir}/logs/api.log`, 'utf8')
        .split('\n')
        .some((line) => line.includes(`"trace_id":"${TRACE}","span_id":"${span!.spanId}"`)),
    );
  });

  test('deliveries without workflows are in the trace of their request', async () => {
    const memories = Array.from({ length: 24 }, (_, n) => ({ id: `many-${n}`, text: `${TEXT} ${n}` }));
    await api.ingest({ database: 'traced', memories: JSON.stringify(memories) });
    const first = await delivered('many-0');
    const deliveries = await Promise.all(memories.map(({ id }) => delivered(id)));
    expect(new Set(deliveries.map(({ traceId }) => traceId))).toEqual(new Set([first.traceId]));
    await eventually('span of the request', () => named(first.traceId, /^POST \//).length === 1);
  });

  test('spans have no content and no address, and receivers get no trace', async () => {
    const sent = JSON.stringify(collector.spans);
    for (const secret of ['quadrilateral', 'in-the-url', api.key, receiver.url]) expect(sent).not.toContain(secret);
    expect(receiver.received.length).toBeGreaterThan(0);
    expect(receiver.received.filter(({ headers }) => 'traceparent' in headers)).toEqual([]);
  });

  test('executions replay with and without the trace in their history', async () => {
    installTemporalLogger(pino({ level: 'silent' }));
    const client = await connectTemporal(product.temporalAddress, NAMESPACE);
    const query = 'PostbackSource="note" AND ExecutionStatus="Completed"';
    const ended = await listedWorkflows(client, query, ({ length }) => length >= 2);
    const traced = await Promise.all(
      ended.map(async ({ workflowId, runId }) => {
        const history = await client.workflow.getHandle(workflowId, runId).fetchHistory();
        return { workflowId, history };
      }),
    );
    await client.connection.close();
    for (const { history } of traced) expect(JSON.stringify(history)).toContain('_tracer-data');
    const untraced = traced.map(({ workflowId, history }) => {
      const copy = structuredClone(history) as { events: Record<string, { header?: unknown }>[] };
      for (const event of copy.events) {
        for (const attributes of Object.values(event)) if (attributes?.header) attributes.header = null;
      }
      return { workflowId: `${workflowId} without`, history: copy };
    });
    const options = { workflowBundle: await workflowBundle() };
    for await (const { workflowId, error } of Worker.runReplayHistories(options, [...traced, ...untraced] as never))
      expect([workflowId, error]).toEqual([workflowId, undefined]);
  });
});

test('without an endpoint there is no tracing', async () => {
  expect(await startTracing(readConfig({}), 'api')).toBeUndefined();
});
