/**
 * Resolves when this process should end: on SIGINT or SIGTERM, or when the process that started it is gone
 * (a child started with an IPC channel must not outlive its parent).
 */
export function untilStopped(): Promise<void> {
  return new Promise((resolve) => {
    process.once('SIGINT', () => resolve());
    process.once('SIGTERM', () => resolve());
    if (process.channel) {
      process.once('disconnect', () => resolve());
      // The channel alone shall not keep a process alive that has ended its work.
      process.channel.unref();
    }
  });
}
