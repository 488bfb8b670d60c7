import { Context } from '@temporalio/activity';

/**
 * Tells the server every few seconds that the activity lives, so that a killed worker's work moves on in seconds
 * and not after the whole time limit. Work that ends sooner costs no heartbeat.
 */
export async function withHeartbeat<T>(work: (signal: AbortSignal) => Promise<T>): Promise<T> {
  const context = Context.current();
  const timer = setInterval(() => context.heartbeat(), 5_000);
  try {
    return await work(context.cancellationSignal);
  } finally {
    clearInterval(timer);
  }
}
