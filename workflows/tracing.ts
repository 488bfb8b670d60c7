/**
 * Carries the trace of the request that started a workflow to its activities. Part of the workflows' bundle as a module of
 * interceptors. Unlike Temporal's own module it adds no step to the execution (no promise, no yield), so the order of
 * commands is the same with and without a trace, and tracing can be switched on and off while workflows run.
 */
import {
  ContinueAsNew,
  defaultPayloadConverter,
  type Headers,
  isCancellation,
  proxySinks,
  type Sinks,
  type WorkflowInterceptors,
  workflowInfo,
} from '@temporalio/workflow';

/** The header of Temporal's interceptors for OpenTelemetry in clients and activities: an object with `traceparent`. */
const HEADER = '_tracer-data';
/** `<version>-<trace id>-<span id>-<flags>` (W3C Trace Context). */
const TRACEPARENT = /^00-([0-9a-f]{32})-[0-9a-f]{16}-([0-9a-f]{2})$/;

export type RunOutcome = 'completed' | 'failed' | 'cancelled' | 'continued';

export interface TraceSinks extends Sinks {
  tracing: {
    /** A run has ended. @param spanId that its activities have as their parent */
    ended(traceparent: string, spanId: string, outcome: RunOutcome): void;
  };
}

export function interceptors(): WorkflowInterceptors {
  const { tracing } = proxySinks<TraceSinks>();
  let carried: Headers = {};
  let original: Headers = {};
  const withTrace = <Input extends { readonly headers: Headers }>(input: Input): Input => ({
    ...input,
    headers: { ...input.headers, ...carried },
  });
  return {
    inbound: [
      {
        execute(input, next) {
          const { runId } = workflowInfo();
          const traceparent = traceparentOf(input.headers);
          const [, traceId, flags] = TRACEPARENT.exec(traceparent ?? '') ?? [];
          if (!traceparent || !traceId) return next(input);
          // The last 64 bits of a run id are random.
          const spanId = runId.replaceAll('-', '').slice(16);
          original = { [HEADER]: input.headers[HEADER]! };
          carried = {
            [HEADER]: defaultPayloadConverter.toPayload({ traceparent: `00-${traceId}-${spanId}-${flags}` }),
          };
          const run = next(input);
          run.then(
            () => tracing.ended(traceparent, spanId, 'completed'),
            (error: unknown) => tracing.ended(traceparent, spanId, outcomeOf(error)),
          );
          return run;
        },
      },
    ],
    outbound: [
      {
        scheduleActivity: (input, next) => next(withTrace(input)),
        scheduleLocalActivity: (input, next) => next(withTrace(input)),
        continueAsNew: (input, next) => next({ ...input, headers: { ...input.headers, ...original } }),
      },
    ],
  };
}

function traceparentOf(headers: Headers): string | null {
  const payload = headers[HEADER];
  if (payload === undefined) return null;
  return defaultPayloadConverter.fromPayload<{ traceparent?: string } | null>(payload)?.traceparent ?? null;
}

function outcomeOf(error: unknown): RunOutcome {
  if (error instanceof ContinueAsNew) return 'continued';
  return isCancellation(error) ? 'cancelled' : 'failed';
}
