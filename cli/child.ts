import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { createWriteStream, mkdirSync, type WriteStream } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as wait } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';

const MAIN = {
  api: fileURLToPath(new URL('../api/main.js', import.meta.url)),
  worker: fileURLToPath(new URL('../worker/main.js', import.meta.url)),
};
/** Between a crash and the next try; a process that cannot start at all must not spin. */
const RESTART_MS = 1_000;
/** For requests and activities under way; then the process is killed. */
const STOP_MS = 20_000;
/**
 * Each thread of a process may fill two such spaces before it collects; at the default of 16 MiB the worker's threads
 * together hold 150 MB more, for nothing that could be measured in speed.
 */
const V8_FLAGS = ['--max-semi-space-size=4'];
/** Gives freed memory back to the system sooner; for the API only, as it slows the embedding of documents down. */
const API_ALLOCATOR = { MALLOC_TRIM_THRESHOLD_: '131072' };
/** pino's number for `warn`. */
const WARN = 40;

/** The API or the worker process, started again when it dies. */
export interface Child {
  /** Resolves when it has come up for the first time; rejects when it ended before. */
  ready: Promise<void>;
  /** Of the process that runs now. */
  pid(): number;
  stop(): Promise<void>;
}

/**
 * Starts `postback <name>` as a process of its own, in its own process group so that Ctrl-C reaches only the
 * supervisor. Its log goes to `<dataDir>/logs/<name>.log`; warnings and errors are also said.
 */
export function startChild(
  name: 'api' | 'worker',
  env: NodeJS.ProcessEnv,
  dataDir: string,
  say: (line: string) => void,
): Child {
  mkdirSync(join(dataDir, 'logs'), { recursive: true });
  const logFile = join(dataDir, 'logs', `${name}.log`);
  const log = createWriteStream(logFile, { flags: 'a', mode: 0o600 });
  const stopping = new AbortController();
  let current: ChildProcess;
  let markReady: () => void;
  let markFailed: (error: Error) => void;
  const ready = new Promise<void>((resolve, reject) => {
    markReady = resolve;
    markFailed = reject;
  });

  function launch(): ChildProcess {
    const child = fork(MAIN[name], [], {
      env: name === 'api' ? { ...API_ALLOCATOR, ...env } : env,
      detached: true,
      execArgv: V8_FLAGS,
      stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
    });
    forward(child, name, log, say);
    child.on('message', (message: { ready?: boolean }) => message.ready && markReady());
    child.once('exit', async (code, signal) => {
      if (stopping.signal.aborted) return;
      markFailed(new Error(`the ${name} process ended (${signal ?? `code ${code}`}); its log is ${logFile}`));
      say(`${name} ended (${signal ?? `code ${code}`}); starting it again`);
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
        const deadline = setTimeout(() => current.kill('SIGKILL'), STOP_MS);
        await ended;
        clearTimeout(deadline);
      }
      log.end();
    },
  };
}

function forward(child: ChildProcess, name: string, log: WriteStream, say: (line: string) => void): void {
  for (const stream of [child.stdout!, child.stderr!]) {
    createInterface({ input: stream }).on('line', (line) => {
      log.write(`${line}\n`);
      const spoken = warning(line);
      if (spoken !== null) say(`${name}: ${spoken}`);
    });
  }
}

/** A log line worth showing in the terminal, shortened; null for the rest. */
function warning(line: string): string | null {
  if (!line.startsWith('{')) return line.startsWith('postback:') ? line : null;
  try {
    const { level, msg, err } = JSON.parse(line);
    return level >= WARN ? `${msg}${err?.message ? `: ${err.message}` : ''}` : null;
  } catch {
    return null;
  }
}
