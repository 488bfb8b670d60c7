import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { createWriteStream, mkdirSync, type WriteStream } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as wait } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';

/** The folder of the compiled code. */
const CODE = fileURLToPath(new URL('..', import.meta.url));
const MAIN = { api: 'api/main.js', worker: 'worker/main.js', embedder: 'embedder/main.js' };
/** Pause between a crash and the restart, so that a process that cannot start does not restart in a tight loop. */
const RESTART_MS = 1_000;
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
/** pino's number for `warn`. */
const WARN = 40;

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
  const stopping = new AbortController();
  let current: ChildProcess;
  let ends = 0;
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
    forwardLog(child, name, log, print);
    child.on('message', (message: { ready?: boolean }) => message.ready && markReady());
    child.once('exit', async (code, signal) => {
      if (stopping.signal.aborted) return;
      const how = signal ?? `code ${code}`;
      ends += 1;
      if (ends === START_ATTEMPTS) markFailed(new Error(`the ${name} process ended (${how}); see its log: ${logFile}`));
      print(`${name} ended (${how}); restarting it`);
      await wait(RESTART_MS, undefined, { signal: stopping.signal }).catch(() => undefined);
      if (!stopping.signal.aborted) current = launch();
    });
    return child;
  }
  current = launch();

  return {
    ready,
    pid: () => current.pid!,
    async stop() {
      stopping.abort();
      if (current.exitCode === null && current.signalCode === null) {
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

function forwardLog(child: ChildProcess, name: string, log: WriteStream, print: (line: string) => void): void {
  for (const stream of [child.stdout!, child.stderr!]) {
    createInterface({ input: stream }).on('line', (line) => {
      log.write(`${line}\n`);
      const warning = warningIn(line);
      if (warning !== null) print(`${name}: ${warning}`);
    });
  }
}

/** The message of a log line of level `warn` or higher, for the terminal; null for other lines. */
function warningIn(line: string): string | null {
  if (!line.startsWith('{')) return line.startsWith('postback:') ? line : null;
  try {
    const { level, msg, err } = JSON.parse(line);
    return level >= WARN ? `${msg}${err?.message ? `: ${err.message}` : ''}` : null;
  } catch {
    return null;
  }
}
