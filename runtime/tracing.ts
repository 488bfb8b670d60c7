import type { WorkflowClientInterceptor } from '@temporalio/client';
import type { ActivityInterceptorsFactory, InjectedSinks } from '@temporalio/worker';
import type { Middleware } from 'koa';
import type { TraceSinks } from '../workflows/tracing.js';
import type { Config } from './config.js';

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
 * Starts OpenTelemetry when OTEL_EXPORTER_OTLP_ENDPOINT is set. Its packages are loaded only then.
 * @param process part of `service.name`
 */
export async function startTracing(config: Config, process: 'api' | 'worker'): Promise<Tracing | undefined> {
  if (config.OTEL_EXPORTER_OTLP_ENDPOINT === undefined) return undefined;
  const { createTracing } = await import('./open-telemetry.js');
  return createTracing(`postback-${process}`);
}
