import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, existsSync, fstatSync, openSync, readSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { identify, isAlive, type ProcessIdentity } from '../runtime/process-identity.js';
import type { Env, Log } from './downloads.js';
import { readJsonFile } from './json-file.js';
import { lastLines } from './run-command.js';

const SUPERVISOR = fileURLToPath(new URL('./supervisor.js', import.meta.url));
/** The supervisor kills a server that does not stop within 15 s, so an older one needs a person. */
const PREVIOUS_RUN_TIMEOUT_MS = 25_000;
/** How long a server without a supervisor may take to stop before it is killed, in ms. */
const ORPHAN_TIMEOUT_MS = 15_000;
/** How much of a log is read to say why its server has ended. */
const TAIL_BYTES = 256 * 1024;
/** How long a server may take to respond, in ms. Includes recovery after a crash. */
const READY_MS = 120_000;

/** A server process that ends when this process ends, however that happens. */
export interface SupervisedChild {
  /** The server's own pid, not the supervisor's. */
  readonly pid: number;
  /** Resolves with an explanation when the server ends, whether it was asked to or not. */
  readonly ended: Promise<string>;
  /** Stops the server and resolves when it is gone. May be called again. */
  stop(): Promise<void>;
}

/** How a server of the stack is started. */
export interface ServerOptions {
  readonly binary: string;
  /** Holds the server's data, its log and the chosen ports. */
  readonly dir: string;
  /** The folder where all stacks of this user claim their ports. */
  readonly claimsDir: string;
  readonly env: Env;
  readonly log: Log;
}

export interface SupervisedChildOptions {
  readonly command: string;
  readonly args: readonly string[];
  readonly env: Env;
  /** Receives the server's output; the log of the previous run is kept as `<logFile>.1`. */
  readonly logFile: string;
  /** Stores the identity of the running server for the next start. */
  readonly pidFile: string;
}

/** Starts a server that ends with this process. @throws Error when the command cannot be run */
export async function startSupervisedChild(options: SupervisedChildOptions): Promise<SupervisedChild> {
  const { command, args, env, logFile, pidFile } = options;
  if (existsSync(logFile)) renameSync(logFile, `${logFile}.1`);
  const output = openSync(logFile, 'a', 0o600);
  const supervisor = spawn(process.execPath, [SUPERVISOR, command, ...args], {
    detached: true,
    env: env as NodeJS.ProcessEnv,
    stdio: ['ignore', output, output, 'ipc'],
  });
  closeSync(output);

  const exited = new Promise<string>((resolve) => {
    supervisor.once('exit', (code) => resolve(`ended with code ${code}`));
    // Such as with too many files open. An error event without a listener would end this process, too.
    supervisor.on('error', (error) => resolve(`could not be started: ${error.message}`));
  });
  const ended = exited.then((how) => `${how}. End of ${logFile}: ${logTail(logFile) || '(empty)'}`);
  const pid = await Promise.race([
    once(supervisor, 'message').then(([message]) => (message as { pid: number }).pid),
    ended.then((reason) => Promise.reject(new Error(`${command} ${reason}`))),
  ]);
  const identity = identify(pid);
  if (identity) writeFileSync(pidFile, JSON.stringify(identity));

  return {
    pid,
    ended,
    stop: async () => {
      if (supervisor.connected) supervisor.disconnect();
      await exited;
      if (identity) await endOrphan(identity);
      rmSync(pidFile, { force: true });
    },
  };
}

/** Ends a server whose supervisor was killed; any other has ended before its supervisor. */
async function endOrphan(server: ProcessIdentity): Promise<void> {
  const deadline = Date.now() + ORPHAN_TIMEOUT_MS;
  for (let signal: NodeJS.Signals = 'SIGTERM'; isAlive(server); await sleep(100)) {
    try {
      process.kill(server.pid, signal);
    } catch {
      return;
    }
    if (Date.now() > deadline) signal = 'SIGKILL';
  }
}

/**
 * Repeats `check` until it returns true. Errors of `check` count as "not ready yet".
 * @throws Error with the end of the log when the server ends first or is not ready in time; the server is stopped then
 */
export async function waitUntilReady(
  server: SupervisedChild,
  title: string,
  check: () => Promise<boolean>,
  timeoutMs = READY_MS,
): Promise<void> {
  let endReason: string | undefined;
  void server.ended.then((reason) => {
    endReason = reason;
  });
  const deadline = Date.now() + timeoutMs;
  let lastError: unknown;
  while (endReason === undefined && Date.now() < deadline) {
    try {
      if (await check()) return;
    } catch (error) {
      lastError = error;
    }
    await sleep(50);
  }
  const endedEarly = endReason;
  await server.stop();
  if (endedEarly !== undefined) throw new Error(`${title} ${endedEarly}`);
  const reason = lastError instanceof Error ? lastError.message : '';
  throw new Error(`${title} did not respond in ${timeoutMs / 1000} s: ${reason}`);
}

/** Waits until the server of an earlier, killed run has released its data. @throws Error when it does not */
export async function waitForPreviousRun(pidFile: string, title: string, log: Log): Promise<void> {
  const previous = readJsonFile<ProcessIdentity>(pidFile);
  if (!previous || !isAlive(previous)) return;
  log(`${title}: waiting for process ${previous.pid} of the previous run to stop`);
  const deadline = Date.now() + PREVIOUS_RUN_TIMEOUT_MS;
  while (isAlive(previous)) {
    if (Date.now() > deadline) {
      throw new Error(
        `${title} of an earlier run still uses the data. Stop process ${previous.pid}, then start again.`,
      );
    }
    await sleep(100);
  }
}

// When mongod fails, it logs a long stack trace last: its lines of severity E (error) and F (fatal) hold the reason.
function logTail(path: string): string {
  const log = endOf(path);
  const severe = log.split('\n').filter((line) => /"s":"[EF]"/.test(line));
  return lastLines(severe.length ? severe.join('\n') : log, 3);
}

/** The end of a file, which may be larger than a string can be; nothing when it cannot be read. */
function endOf(path: string): string {
  let file: number | undefined;
  try {
    file = openSync(path, 'r');
    const { size } = fstatSync(file);
    const buffer = Buffer.alloc(Math.min(size, TAIL_BYTES));
    return buffer.toString('utf8', 0, readSync(file, buffer, 0, buffer.length, size - buffer.length));
  } catch {
    return '';
  } finally {
    if (file !== undefined) closeSync(file);
  }
}
