import { context, SpanKind, SpanStatusCode, trace } from '@opentelemetry/api';
import { contextOf } from '../../domain/trace-context.js';
import type { AttemptResult } from '../../domain/webhooks/delivery-policy.js';
import type { DeliveryRecord } from '../../storage/webhooks/deliveries.js';

/**
 * Makes a span of an attempt, in the trace of the work that the delivery reports. Without tracing this only calls `send`.
 * @param send returns the receiver's status, or the code of the error; neither names an address
 */
export function inDeliverySpan<Answer extends { result: AttemptResult; code: string }>(
  { _id, attempts, doc_id, event_type, trace: traceparent }: DeliveryRecord,
  send: () => Promise<Answer>,
): Promise<Answer> {
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
          const answer = await send();
          const { result, code } = answer;
          if ('status' in result) span.setAttribute('http.response.status_code', result.status);
          else span.setAttribute('error.type', code);
          if ('error' in result || result.status >= 400) span.setStatus({ code: SpanStatusCode.ERROR });
          return answer;
        } finally {
          span.end();
        }
      },
    );
}
