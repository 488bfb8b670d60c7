import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { createWriteStream, mkdirSync, type WriteStream } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import type { Readable } from 'node:stream';
import { setTimeout as wait } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';

/** The folder of the compiled code. */
const CODE = fileURLToPath(new URL('..', import.meta.url));
const MAIN = { api: 'api/main.js', worker: 'worker/main.js', embedder: 'embedder/main.js' };
/**
 * Pause before a restart. Each end soon after a start doubles it, so that a process that cannot run does not keep the machine
 * busy for ever.
 */
const RESTART_MS = 1_000;
const LONGEST_RESTART_MS = 60_000;
/** A process that has run for so long can run here. */
const STEADY_MS = 10_000;
/**
 * How often a process may end before it is ready: on a busy machine, a server may take longer to respond than the process waits.
 */
const START_ATTEMPTS = 3;
/** How long running requests and activities may take to finish; then the process is killed. */
const STOP_TIMEOUT_MS = 20_000;
/**
 * Each thread may fill two semi-spaces before it collects garbage. With the default of 16 MiB, the worker's threads use
 * 150 MB more memory, without a measurable gain in speed.
 */
const V8_FLAGS = ['--max-semi-space-size=4'];
/** Each thread would get an allocator arena of its own, with free memory that the others cannot use. */
const FEW_ARENAS = { MALLOC_ARENA_MAX: '2' };
/** Returns freed memory to the system sooner. Only for the API: it would slow down the embedding of documents. */
const API_ALLOCATOR = { MALLOC_TRIM_THRESHOLD_: '131072' };
/** pino's numbers. */
const WARN = 40;
const ERROR = 50;

/** The API, the worker or the embedding process. It is restarted when it crashes. */
export interface Child {
  /** Resolves when the process is ready for the first time; rejects when it ends three times before. */
  ready: Promise<void>;
  /** The pid of the current process. */
  pid(): number;
  stop(): Promise<void>;
}

/**
 * Starts a process of the product in its own process group, so that Ctrl-C reaches only the parent. Its log is written to
 * `<dataDir>/logs/<name>.log`.
 * @param print receives warnings and errors of the log, and restarts
 * @param code the folder of compiled code: another release's, when one takes over from another
 */
export function startChild(
  name: keyof typeof MAIN,
  env: NodeJS.ProcessEnv,
  dataDir: string,
  print: (line: string) => void,
  code = CODE,
): Child {
  mkdirSync(join(dataDir, 'logs'), { recursive: true });
  const logFile = join(dataDir, 'logs', `${name}.log`);
  const log = createWriteStream(logFile, { flags: 'a', mode: 0o600 });
  // Such as a full disk: the process goes on without its log.
  log.on('error', (error) => print(`the log of ${name} is not written any more: ${error.message}`));
  const stopping = new AbortController();
  let current: ChildProcess;
  let ends = 0;
  let pause = RESTART_MS;
  /** The last error in the log of the current process. */
  let lastError = '';
  let markReady: () => void;
  let markFailed: (error: Error) => void;
  const ready = new Promise<void>((resolve, reject) => {
    markReady = resolve;
    markFailed = reject;
  });
  ready.catch(() => undefined);

  function launch(): ChildProcess {
    const child = fork(join(code, MAIN[name]), [], {
      env: { ...FEW_ARENAS, ...(name === 'api' ? API_ALLOCATOR : {}), ...env },
      detached: true,
      execArgv: V8_FLAGS,
      stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
    });
    const startedAt = performance.now();
    lastError = '';
    if (child.stdout && child.stderr) {
      forwardLog([child.stdout, child.stderr], log, (level, text) => {
        if (level >= ERROR) lastError = text;
        print(`${name}: ${text}`);
      });
    }
    child.on('message', (message: { ready?: boolean }) => message.ready && markReady());
    let hasEnded = false;
    const onEnd = async (how: string) => {
      if (stopping.signal.aborted || hasEnded) return;
      hasEnded = true;
      ends += 1;
      const why = lastError === '' ? how : `${how}: ${lastError}`;
      if (ends === START_ATTEMPTS) markFailed(new Error(`the ${name} process ended (${why}); see its log: ${logFile}`));
      if (performance.now() - startedAt >= STEADY_MS) pause = RESTART_MS;
      print(`${name} ended (${why}); starting it again in ${pause / 1000} s`);
      await wait(pause, undefined, { signal: stopping.signal }).catch(() => undefined);
      pause = Math.min(2 * pause, LONGEST_RESTART_MS);
      if (!stopping.signal.aborted) current = launch();
    };
    child.once('exit', (code, signal) => void onEnd(signal ?? `code ${code}`));
    // The process could not be started, such as without memory or with too many files open.
    child.on('error', (error) => void onEnd(error.message));
    return child;
  }
  current = launch();

  return {
    ready,
    pid: () => current.pid!,
    async stop() {
      stopping.abort();
      if (current.pid !== undefined && current.exitCode === null && current.signalCode === null) {
        const ended = once(current, 'exit');
        current.kill('SIGTERM');
        const deadline = setTimeout(() => current.kill('SIGKILL'), STOP_TIMEOUT_MS);
        await ended;
        clearTimeout(deadline);
      }
      log.end();
    },
  };
}

/** @param warn receives the messages of level `warn` or higher */
function forwardLog(streams: readonly Readable[], log: WriteStream, warn: (level: number, text: string) => void): void {
  for (const stream of streams) {
    createInterface({ input: stream }).on('line', (line) => {
      if (log.writable) log.write(`${line}\n`);
      const { level, text } = readLine(line);
      if (level >= WARN) warn(level, text);
    });
  }
}

/** The level and the message of a line. What is not a line of the log has level 0, unless it says what ends the process. */
function readLine(line: string): { level: number; text: string } {
  if (!line.startsWith('{')) return { level: line.startsWith('postback:') ? ERROR : 0, text: line };
  try {
    const { level, msg, err } = JSON.parse(line);
    return { level, text: `${msg}${err?.message ? `: ${err.message}` : ''}` };
  } catch {
    return { level: 0, text: line };
  }
}
