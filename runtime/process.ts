import { setFlagsFromString } from 'node:v8';

/**
 * How much the heap may grow, in percent of what is in use, before V8 collects all garbage. Its own choice is four times the
 * use on a machine with much memory. Set here, because Node does not start with an argument that its V8 does not know.
 */
const HEAP_GROWTH = 40;

/** How long the work after a fatal error may take. */
const FATAL_MS = 2_000;
let afterFatalError: (() => Promise<void>) | undefined;

/** @param work runs before this process ends by an error, for two seconds at most */
export function onFatalError(work: () => Promise<void>): void {
  afterFatalError = work;
}

/** Prints what ends this process, and ends it. Connections that are open would keep it alive, and its supervisor waits. */
async function endBy(error: unknown, how: string): Promise<void> {
  console.error(`postback: ${how}: ${error instanceof Error ? (error.stack ?? error.message) : String(error)}`);
  setTimeout(() => process.exit(1), FATAL_MS);
  await afterFatalError?.().catch(() => undefined);
  process.exit(1);
}

/**
 * Runs the main function of a process. When it fails, or an error reaches nobody, prints the error and exits with code 1.
 * @param work resolves when the process may end by itself
 */
export async function runProcess(work: () => Promise<unknown>): Promise<void> {
  process.once('uncaughtException', (error) => void endBy(error, 'ended by an error that nothing caught'));
  process.once('unhandledRejection', (error) => void endBy(error, 'ended by a rejection that nothing caught'));
  dropEmptyAwsSettings();
  setFlagsFromString(`--heap-growing-percent=${HEAP_GROWTH}`);
  try {
    await work();
  } catch (error) {
    console.error(`postback: ${(error as Error).message}`);
    await afterFatalError?.().catch(() => undefined);
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
