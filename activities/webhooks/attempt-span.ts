import { context, SpanKind, SpanStatusCode, trace } from '@opentelemetry/api';
import { contextOf } from '../../domain/trace-context.js';
import type { DeliveryRecord } from '../../storage/webhooks/deliveries.js';

/**
 * Makes a span of an attempt, in the trace of the work that the delivery reports. Without tracing this only calls `send`.
 * @param send returns the receiver's status, or the code of the error; neither names an address
 */
export function inDeliverySpan<Outcome extends { status: number } | { code: string }>(
  { _id, attempts, doc_id, event_type, trace: traceparent }: DeliveryRecord,
  send: () => Promise<Outcome>,
): Promise<Outcome> {
  const attributes = {
    'postback.delivery': _id,
    'postback.event': event_type,
    'postback.source': doc_id,
    'postback.attempt': attempts,
  };
  return trace
    .getTracer('postback')
    .startActiveSpan(
      `Deliver ${event_type}`,
      { kind: SpanKind.CLIENT, attributes },
      traceparent === undefined ? context.active() : contextOf(traceparent),
      async (span) => {
        try {
          const outcome = await send();
          const failed = 'code' in outcome || outcome.status >= 400;
          if ('status' in outcome) span.setAttribute('http.response.status_code', outcome.status);
          else span.setAttribute('error.type', outcome.code);
          if (failed) span.setStatus({ code: SpanStatusCode.ERROR });
          return outcome;
        } finally {
          span.end();
        }
      },
    );
}
