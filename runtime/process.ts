/**
 * Runs what a process is there for, and ends the process with a readable message when it fails.
 * @param work resolves when the process should end by itself
 */
export async function runProcess(work: () => Promise<unknown>): Promise<void> {
  dropEmptyAwsSettings();
  try {
    await work();
  } catch (error) {
    console.error(`postback: ${(error as Error).message}`);
    // Whatever a failed start has opened must not keep the process alive: its supervisor waits for the exit.
    process.exit(1);
  }
}

/**
 * Resolves when this process should end: on SIGINT or SIGTERM, or when the process that started it is gone
 * (a child started with an IPC channel must not outlive its parent).
 */
export function stopRequested(): Promise<void> {
  return new Promise((resolve) => {
    process.once('SIGINT', () => resolve());
    process.once('SIGTERM', () => resolve());
    if (process.channel) {
      process.once('disconnect', () => resolve());
      // The channel alone must not keep a process alive that has ended its work.
      process.channel.unref();
    }
  });
}

/** An empty variable counts as not set. AWS's clients read theirs themselves and would use an empty one. */
function dropEmptyAwsSettings(): void {
  for (const [name, value] of Object.entries(process.env)) {
    if (name.startsWith('AWS_') && value === '') delete process.env[name];
  }
}
