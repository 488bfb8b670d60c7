import { setTimeout as wait } from 'node:timers/promises';
import type { Log } from './downloads.js';
import { startOnPorts } from './ports.js';
import { type ServerOptions, type SupervisedChild, waitForPreviousRun } from './supervised-child.js';

/** Pause between the end of a server and its next start, in ms. */
const PAUSE_MS = 1_000;
/** A server that ends more often than this in `WINDOW_MS` cannot run here, and a person has to look. */
const RESTARTS = 5;
const WINDOW_MS = 120_000;

export interface RestartingServer {
  /** The pid of the process that runs now, or that ran last. */
  pid(): number;
  /** Resolves with an explanation when the server cannot be kept running; never after `stop`. */
  readonly failed: Promise<string>;
  /** Stops the server, also while it is starting. May be called again. */
  stop(): Promise<void>;
}

/**
 * Starts a server on free ports, when the process of its previous run has ended; see `startRestarting`.
 * @param preferred used when they are free
 */
export async function startOnFreePorts<Name extends string, Server extends SupervisedChild>(
  { title, pidFile, preferred }: { title: string; pidFile: string; preferred: Record<Name, number> },
  options: ServerOptions,
  start: (ports: Record<Name, number>) => Promise<Server>,
): Promise<Omit<Server, keyof SupervisedChild> & RestartingServer> {
  await waitForPreviousRun(pidFile, title, options.log);
  return startOnPorts(options, preferred, (ports) => startRestarting(title, () => start(ports), options.log));
}

/**
 * Starts a server, and starts it again when it ends without being asked to. Its data are on disk, and its clients connect
 * again, so its end costs a pause and nothing else.
 * @param title names the server in messages
 * @param start must start the server at the same address each time
 * @param log receives a line for each restart
 * @throws Error when it ends twice before it is ready
 */
export async function startRestarting<Server extends SupervisedChild>(
  title: string,
  start: () => Promise<Server>,
  log: Log,
): Promise<Omit<Server, keyof SupervisedChild> & RestartingServer> {
  const stopping = new AbortController();
  // On a busy machine the parts of a server may wait too long for each other.
  const first = await start().catch((error) => {
    log(`${title} did not start: ${(error as Error).message}\nStarting ${title} again`);
    return start();
  });
  let current: SupervisedChild = first;

  /** @returns why the server is not started again; null when it was stopped */
  async function keepRunning(): Promise<string | null> {
    const ends: number[] = [];
    let reason = await first.ended;
    while (!stopping.signal.aborted) {
      const now = Date.now();
      ends.push(now);
      if (ends.filter((end) => now - end < WINDOW_MS).length > RESTARTS) return `${title} ${reason}`;
      log(`${title} ${reason}\nStarting ${title} again`);
      await wait(PAUSE_MS, undefined, { signal: stopping.signal }).catch(() => undefined);
      if (stopping.signal.aborted) break;
      try {
        await current.stop();
        current = await start();
        log(`${title} runs again`);
        reason = await current.ended;
      } catch (error) {
        reason = `did not start: ${(error as Error).message}`;
      }
    }
    return null;
  }
  const ended = keepRunning();

  return {
    ...first,
    pid: () => current.pid,
    failed: new Promise((resolve) => void ended.then((reason) => reason !== null && resolve(reason))),
    async stop() {
      stopping.abort();
      await current.stop();
      await ended;
      // Another process may have been starting.
      await current.stop();
    },
  };
}
