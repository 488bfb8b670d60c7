/** The trace that the running code belongs to. Without tracing, OpenTelemetry's API does nothing. */
import { type Context, context, isSpanContextValid, ROOT_CONTEXT, type SpanContext, trace } from '@opentelemetry/api';

/** `<version>-<trace id>-<span id>-<flags>` (W3C Trace Context). */
const TRACEPARENT = /^00-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})$/;

/** @returns the active span as `traceparent`; undefined without one */
export function currentTraceparent(): string | undefined {
  const span = trace.getSpanContext(context.active());
  if (!span || !isSpanContextValid(span)) return undefined;
  return `00-${span.traceId}-${span.spanId}-${span.traceFlags.toString(16).padStart(2, '0')}`;
}

/** @returns a context whose active span is the one that `traceparent` names */
export function contextOf(traceparent: string): Context {
  const [, traceId, spanId, flags] = TRACEPARENT.exec(traceparent) ?? [];
  if (!traceId) return ROOT_CONTEXT;
  const span: SpanContext = { traceId, spanId: spanId!, traceFlags: Number.parseInt(flags!, 16), isRemote: true };
  return trace.setSpanContext(ROOT_CONTEXT, span);
}
