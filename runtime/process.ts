import { setFlagsFromString } from 'node:v8';

/**
 * How much the heap may grow, in percent of what is in use, before V8 collects all garbage. Its own choice is four times the
 * use on a machine with much memory. Set here, because Node does not start with an argument that its V8 does not know.
 */
const HEAP_GROWTH = 40;

/**
 * Runs the main function of a process. When it fails, prints the error's message and exits with code 1.
 * @param work resolves when the process may end by itself
 */
export async function runProcess(work: () => Promise<unknown>): Promise<void> {
  dropEmptyAwsSettings();
  setFlagsFromString(`--heap-growing-percent=${HEAP_GROWTH}`);
  try {
    await work();
  } catch (error) {
    console.error(`postback: ${(error as Error).message}`);
    // Connections opened before the failure must not keep the process alive: its supervisor waits for the exit.
    process.exit(1);
  }
}

/**
 * Resolves when this process should end: on SIGINT or SIGTERM, or when its parent process is gone. A child started with
 * an IPC channel must not outlive its parent.
 */
export function stopRequested(): Promise<void> {
  return new Promise((resolve) => {
    process.once('SIGINT', () => resolve());
    process.once('SIGTERM', () => resolve());
    if (process.channel) {
      process.once('disconnect', () => resolve());
      // The channel alone must not keep a finished process alive.
      process.channel.unref();
    }
  });
}

/**
 * Ends the process when it still runs after so many milliseconds: a server that does not respond can hold up an orderly
 * stop, and the work in progress is repeated anyway.
 */
export function exitAfter(ms: number): void {
  setTimeout(() => {
    console.error('postback: not stopped in time, so ended with work in progress');
    process.exit(1);
  }, ms).unref();
}

/** Empty variables count as not set. AWS's clients read theirs from the environment and would use an empty value. */
function dropEmptyAwsSettings(): void {
  for (const [name, value] of Object.entries(process.env)) {
    if (name.startsWith('AWS_') && value === '') delete process.env[name];
  }
}
