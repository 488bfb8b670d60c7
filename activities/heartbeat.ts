import { Context } from '@temporalio/activity';

/** Also how soon a cancellation reaches an activity. The workers' throttle interval lets each heartbeat through. */
const HEARTBEAT_MS = 2_000;

/**
 * Sends heartbeats while the work runs, so that the work of a killed worker is retried after the heartbeat timeout and
 * not after the whole time limit. Work that ends sooner sends none.
 * @param work receives a signal that aborts when the activity is cancelled
 */
export async function withHeartbeat<T>(work: (signal: AbortSignal) => Promise<T>): Promise<T> {
  const context = Context.current();
  // A local activity ends with the task of its workflow.
  if (context.info.isLocal) return work(context.cancellationSignal);
  const timer = setInterval(() => context.heartbeat(), HEARTBEAT_MS);
  try {
    return await work(context.cancellationSignal);
  } finally {
    clearInterval(timer);
  }
}
