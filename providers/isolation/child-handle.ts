import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { deserialize } from 'node:v8';
import {
  type ChildOptions,
  type FromChild,
  OUT_OF_MEMORY,
  ProcessLostError,
  StuckTaskError,
  TaskLimitError,
  type ToChild,
} from './protocol.js';

const CHILD = fileURLToPath(new URL('./child.js', import.meta.url));
/** The child reads untrusted input, so it gets none of the secrets in the environment. */
const PASSED_ON = ['PATH', 'HOME', 'TMPDIR', 'TZ', 'LANG', 'LC_ALL', 'LD_LIBRARY_PATH', 'MALLOC_ARENA_MAX'];
/** What V8 and native allocators print before they abort for lack of memory. */
const NO_MEMORY = /out of memory|heap limit|allocation fail|bad_alloc/i;
/** Characters kept of what a child last wrote to stderr. */
const TAIL = 4_096;

export interface TaskOptions<Part> {
  timeoutMs: number;
  signal?: AbortSignal | undefined;
  /** Takes one part of the output. The child waits for it, and its time limit stands still. */
  onPart?: ((part: Part) => Promise<void>) | undefined;
}

export interface Child {
  /** False when the process has ended or is ending. */
  readonly alive: boolean;
  /** Resident memory after the last task, in bytes. */
  readonly resident: number;
  /** @throws TaskLimitError, ProcessLostError, the signal's reason, an error of `onPart`, or the error that the task threw */
  run<Result, Part>(task: unknown, options: TaskOptions<Part>): Promise<Result>;
  /** Kills the process. Resolves when it has ended. */
  end(): Promise<void>;
  onExit(listener: () => void): void;
}

/** Starts a child process. @param memoryMb of its JavaScript heap. @throws Error when the system has no room for a process */
export function startChild(options: ChildOptions, memoryMb: number): Child {
  const child: ChildProcess = fork(CHILD, [JSON.stringify(options)], {
    execArgv: [`--max-old-space-size=${memoryMb}`, '--max-semi-space-size=16'],
    env: Object.fromEntries(PASSED_ON.flatMap((name) => (process.env[name] ? [[name, process.env[name]]] : []))),
    serialization: 'advanced',
    stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
  });
  // An error event follows when the process cannot be started or a message cannot be sent.
  child.on('error', () => child.kill('SIGKILL'));
  if (child.pid === undefined) throw new Error('no process could be started');
  // `close` and not `exit`, so that all of stderr has been read.
  const exited = once(child, 'close').catch(() => [null, null]) as Promise<[number | null, NodeJS.Signals | null]>;
  let stderr = '';
  child.stderr!.on('data', (text) => {
    stderr = (stderr + text).slice(-TAIL);
  });
  let alive = true;
  let resident = 0;
  /** Ends the wait for the running task. */
  let stop = new AbortController();
  void exited.then(([code, signal]) => {
    alive = false;
    const outOfMemory = signal === OUT_OF_MEMORY || NO_MEMORY.test(stderr);
    stop.abort(outOfMemory ? new TaskLimitError('memory') : new ProcessLostError(signal ?? `exit code ${code}`));
  });

  async function end(): Promise<void> {
    alive = false;
    child.kill('SIGKILL');
    await exited;
  }

  async function nextMessage(ended: AbortSignal, toChild: ToChild): Promise<FromChild> {
    ended.throwIfAborted();
    const message = once(child, 'message', { signal: ended });
    child.send(toChild, () => undefined);
    try {
      return (await message)[0] as FromChild;
    } catch (error) {
      ended.throwIfAborted();
      throw error;
    }
  }

  async function converse<Result, Part>(task: unknown, options: TaskOptions<Part>) {
    if (alive) stop = new AbortController();
    const signal = options.signal ? AbortSignal.any([options.signal, stop.signal]) : stop.signal;
    const clock = createStopwatch(options.timeoutMs, () => stop.abort(new TaskLimitError('time')));
    let message = await clock.during(nextMessage(signal, { task }));
    while ('part' in message) {
      await options.onPart?.(deserialize(message.part) as Part);
      message = await clock.during(nextMessage(signal, { next: true }));
    }
    if ('stuck' in message) throw new StuckTaskError();
    if ('exceeded' in message) throw new TaskLimitError(message.exceeded);
    if ('error' in message) return { error: Object.assign(new Error(message.error.message), message.error) };
    resident = message.resident;
    return { result: deserialize(message.result) as Result };
  }

  async function run<Result, Part>(task: unknown, options: TaskOptions<Part>): Promise<Result> {
    let outcome: { result: Result } | { error: Error };
    try {
      outcome = await converse<Result, Part>(task, options);
    } catch (error) {
      // Whatever the reason, the child is in the middle of the task.
      await end();
      throw error;
    }
    if ('error' in outcome) throw outcome.error;
    return outcome.result;
  }

  return {
    get alive() {
      return alive;
    },
    get resident() {
      return resident;
    },
    run,
    end,
    onExit: (listener) => void exited.then(listener),
  };
}

/** Calls `expired` when the promises given to `during` have taken so much time together. */
function createStopwatch(limitMs: number, expired: () => void) {
  let remaining = limitMs;
  return {
    async during<T>(work: Promise<T>): Promise<T> {
      const started = performance.now();
      const timer = setTimeout(expired, remaining);
      try {
        return await work;
      } finally {
        clearTimeout(timer);
        remaining -= performance.now() - started;
      }
    },
  };
}
