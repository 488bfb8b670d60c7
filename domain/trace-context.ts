/** The trace that the running code belongs to. Without tracing, OpenTelemetry's API does nothing. */
import { type Context, context, propagation, ROOT_CONTEXT } from '@opentelemetry/api';

/** @returns the active span as `traceparent` (W3C Trace Context); undefined without one */
export function currentTraceparent(): string | undefined {
  const carrier: { traceparent?: string } = {};
  propagation.inject(context.active(), carrier);
  return carrier.traceparent;
}

/** @returns a context whose active span is the one that `traceparent` names */
export function contextOf(traceparent: string): Context {
  return propagation.extract(ROOT_CONTEXT, { traceparent });
}
