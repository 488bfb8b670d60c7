import { type Attributes, context, propagation, SpanKind, SpanStatusCode, trace } from '@opentelemetry/api';
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks';
import { W3CTraceContextPropagator } from '@opentelemetry/core';
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http';
import { Resource } from '@opentelemetry/resources';
import { BasicTracerProvider, BatchSpanProcessor, RandomIdGenerator } from '@opentelemetry/sdk-trace-base';
import type { WorkflowClientInterceptor } from '@temporalio/client';
import { OpenTelemetryWorkflowClientInterceptor } from '@temporalio/interceptors-opentelemetry/lib/client/index.js';
import { OpenTelemetryActivityInboundInterceptor } from '@temporalio/interceptors-opentelemetry/lib/worker/index.js';
import type { ActivityInterceptorsFactory, InjectedSinks } from '@temporalio/worker';
import type { Middleware } from 'koa';
import { type AllowedCidr, isInRanges } from '../domain/address-rules.js';
import { contextOf } from '../domain/trace-context.js';
import type { TraceSinks } from '../workflows/tracing.js';

/** How often spans are sent. */
const SEND_EVERY_MS = 1_000;
/** Ids in the arguments of activities that become attributes of their spans, such as `postback.delivery`. */
const IDS = ['item', 'delivery', 'job', 'execution', 'authentication', 'connector', 'batch', 'database_id'];
/** Lists of such ids: of jobs, and of versions of items. */
const LISTS = ['items', 'jobs'];
/** Routes of probes, which would be most of the traces. */
const PROBES = /^\/(healthz|readyz|metrics)$/;

/** What a process needs to take part in traces. */
export interface Tracing {
  /** Makes a span of each request; outermost middleware. */
  traceRequest: Middleware;
  /** Makes spans of the starts and signals of workflows, and sends the trace along. */
  client: WorkflowClientInterceptor;
  /** Makes spans of activities. */
  activity: ActivityInterceptorsFactory;
  /** Makes spans of workflows. */
  sinks: InjectedSinks<TraceSinks>;
  /** Fields for each line of the log: the trace and the span that wrote it. */
  logFields(): object;
  /** Sends the spans that have not been sent yet. */
  close(): Promise<void>;
}

/**
 * Sends spans to the OTLP endpoint that the environment names; the exporter and the sampler read the other `OTEL_…` variables
 * themselves. Spans have ids, routes, states and times: no contents, no addresses.
 * @param service `service.name`
 * @param trustedPeers whose requests continue their traces. A request of anybody else starts a trace, with a link to its own: a
 * client must not choose the trace that its work is in
 */
export function createTracing(service: string, trustedPeers: readonly AllowedCidr[] = []): Tracing {
  const ids = new PresetIds();
  const provider = new BasicTracerProvider({
    resource: Resource.default().merge(new Resource({ 'service.name': service })),
    idGenerator: ids,
    spanProcessors: [new BatchSpanProcessor(new OTLPTraceExporter(), { scheduledDelayMillis: SEND_EVERY_MS })],
  });
  provider.register({
    contextManager: new AsyncLocalStorageContextManager().enable(),
    propagator: new W3CTraceContextPropagator(),
  });
  const tracer = provider.getTracer('postback');

  const traceRequest: Middleware = (ctx, next) => {
    if (PROBES.test(ctx.path)) return next();
    const sent = propagation.extract(context.active(), ctx.headers);
    const isTrusted = isInRanges(ctx.req.socket.remoteAddress ?? '', trustedPeers);
    const other = isTrusted ? undefined : trace.getSpanContext(sent);
    const options = { kind: SpanKind.SERVER, links: other ? [{ context: other }] : [] };
    return tracer.startActiveSpan(ctx.method, options, isTrusted ? sent : context.active(), async (span) => {
      try {
        await next();
      } finally {
        const route = typeof ctx._matchedRoute === 'string' ? ctx._matchedRoute : undefined;
        if (route) span.updateName(`${ctx.method} ${route}`);
        span.setAttributes({
          'http.request.method': ctx.method,
          ...(route ? { 'http.route': route } : {}),
          'http.response.status_code': ctx.status,
          'postback.request': ctx.state.request_id,
        });
        if (ctx.status >= 500) span.setStatus({ code: SpanStatusCode.ERROR });
        span.end();
      }
    });
  };

  const activity: ActivityInterceptorsFactory = (activityContext) => {
    const traced = new OpenTelemetryActivityInboundInterceptor(activityContext, { tracer });
    return {
      inbound: {
        execute: (input, next) =>
          traced.execute(input, (sameInput) => {
            trace.getActiveSpan()?.setAttributes(idsIn(input.args));
            return next(sameInput);
          }),
      },
    };
  };

  return {
    traceRequest,
    client: new OpenTelemetryWorkflowClientInterceptor({ tracer }),
    activity,
    sinks: {
      tracing: {
        ended: {
          fn({ workflowType, workflowId, runId, startTime }, traceparent, spanId, outcome) {
            const attributes = { temporalWorkflowId: workflowId, run_id: runId, 'postback.outcome': outcome };
            const options = { startTime, attributes };
            const span = ids.use(spanId, () =>
              tracer.startSpan(`RunWorkflow:${workflowType}`, options, contextOf(traceparent)),
            );
            if (outcome === 'failed') span.setStatus({ code: SpanStatusCode.ERROR });
            span.end();
          },
          callDuringReplay: false,
        },
      },
    },
    logFields() {
      const span = trace.getActiveSpan()?.spanContext();
      return span ? { trace_id: span.traceId, span_id: span.spanId } : {};
    },
    close: () => provider.shutdown().catch(() => undefined),
  };
}

/** Gives the span of a workflow the id that its activities already have as their parent. */
class PresetIds extends RandomIdGenerator {
  #preset: string | undefined;

  constructor() {
    super();
    const random = this.generateSpanId;
    this.generateSpanId = () => this.#preset ?? random();
  }

  use<T>(spanId: string, make: () => T): T {
    this.#preset = spanId;
    try {
      return make();
    } finally {
      this.#preset = undefined;
    }
  }
}

/** The arguments of activities have ids and states only. Work that is done together has lists of ids. */
function idsIn([first]: readonly unknown[]): Attributes {
  if (typeof first !== 'object' || first === null) return {};
  const attributes: Attributes = {};
  for (const [name, value] of Object.entries(first)) {
    if (IDS.includes(name) && /^(string|number)$/.test(typeof value)) attributes[`postback.${name}`] = value;
    if (LISTS.includes(name) && Array.isArray(value)) {
      attributes[`postback.${name}`] = value.map((member) => String(member.item ?? member));
    }
  }
  return attributes;
}
