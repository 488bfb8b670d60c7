import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, existsSync, openSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { identify, isAlive, type ProcessIdentity } from '../runtime/process-identity.js';
import type { Env, Log } from './fetching.js';
import { type ChosenPorts, choosePorts } from './ports.js';
import { lastLines } from './running.js';

const LEASH = fileURLToPath(new URL('./leash.js', import.meta.url));
/** The leash ends its server in 15 s at most; a predecessor that is still there later needs a person. */
const PREDECESSOR_MS = 25_000;

/** A server that ends with this process. */
export interface Leashed {
  /** The server's own pid, not the leash's. */
  readonly pid: number;
  /** Resolves with an explanation when the server ends, asked to or not. */
  readonly ended: Promise<string>;
  /** Ends the server in order and resolves when it is gone. May be called again. */
  stop(): Promise<void>;
}

export interface LeashOptions {
  readonly command: string;
  readonly args: readonly string[];
  readonly env: Env;
  /** Takes the server's output; the previous run's is kept as `<logFile>.1`. */
  readonly logFile: string;
  /** Remembers who runs, for the next start. */
  readonly pidFile: string;
}

/** Starts a server on a leash. Throws when the command cannot be run. */
export async function startLeashed({ command, args, env, logFile, pidFile }: LeashOptions): Promise<Leashed> {
  if (existsSync(logFile)) renameSync(logFile, `${logFile}.1`);
  const output = openSync(logFile, 'a', 0o600);
  const leash = spawn(process.execPath, [LEASH, command, ...args], {
    detached: true,
    env: env as NodeJS.ProcessEnv,
    stdio: ['ignore', output, output, 'ipc'],
  });
  closeSync(output);

  const exited = once(leash, 'exit').then(([code]) => code as number | null);
  const ended = exited.then((code) => {
    const said = existsSync(logFile) ? lastWords(readFileSync(logFile, 'utf8')) : '';
    return `ended with code ${code}; ${logFile} says: ${said || '(nothing)'}`;
  });
  const pid = await Promise.race([
    once(leash, 'message').then(([message]) => (message as { pid: number }).pid),
    ended.then((reason) => Promise.reject(new Error(`${command} ${reason}`))),
  ]);
  const identity = identify(pid);
  if (identity) writeFileSync(pidFile, JSON.stringify(identity));

  return {
    pid,
    ended,
    stop: async () => {
      if (leash.connected) leash.disconnect();
      await exited;
      rmSync(pidFile, { force: true });
    },
  };
}

/** Does `start` on chosen ports, once more on others when another program took one in that very moment. */
export async function startOnPorts<Name extends string, Server extends { stop(): Promise<void> }>(
  { dir, claimsDir }: { dir: string; claimsDir: string },
  preferred: Record<Name, number>,
  start: (ports: Record<Name, number>) => Promise<Server>,
): Promise<Server> {
  for (let attempt = 1; ; attempt++) {
    const { ports, release }: ChosenPorts<Name> = await choosePorts(dir, claimsDir, preferred);
    try {
      const server = await start(ports);
      return { ...server, stop: () => server.stop().finally(release) };
    } catch (error) {
      release();
      if (attempt === 3 || !/address already in use/i.test((error as Error).message)) throw error;
    }
  }
}

/** Waits until the server of an earlier, killed run has let go of the data. Throws when it does not. */
export async function awaitPredecessor(pidFile: string, title: string, log: Log): Promise<void> {
  const predecessor = readIdentity(pidFile);
  if (!predecessor || !isAlive(predecessor)) return;
  log(`${title}: waiting for the one of the last run (process ${predecessor.pid}) to end`);
  const deadline = Date.now() + PREDECESSOR_MS;
  while (isAlive(predecessor)) {
    if (Date.now() > deadline) {
      throw new Error(
        `${title} of an earlier run still holds the data: end process ${predecessor.pid}, then start again.`,
      );
    }
    await sleep(100);
  }
}

// mongod ends a failure with a page of its call stack: its lines of severity error and fatal say what happened.
function lastWords(log: string): string {
  const severe = log.split('\n').filter((line) => /"s":"[EF]"/.test(line));
  return lastLines(severe.length ? severe.join('\n') : log, 3);
}

function readIdentity(path: string): ProcessIdentity | undefined {
  try {
    return JSON.parse(readFileSync(path, 'utf8')) as ProcessIdentity;
  } catch {
    return undefined;
  }
}
