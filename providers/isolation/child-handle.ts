import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { setPriority, tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import type { Duplex, Readable } from 'node:stream';
import { fileURLToPath } from 'node:url';
import { deserialize } from 'node:v8';
import { CHANNEL_FD, createChannel } from './channel.js';
import { permissionArguments } from './permissions.js';
import type { ProcessPoolOptions } from './pool.js';
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
const PASSED_ON = ['PATH', 'TZ', 'LANG', 'LC_ALL', 'LD_LIBRARY_PATH', 'MALLOC_ARENA_MAX'];
/** Fields of tasks that name files: the one that is read, and the one that a feed's pages are written to. A child may write to both. */
const FILES = ['path', 'contents'];
/** What V8 and native allocators print before they abort for lack of memory. */
const NO_MEMORY = /out of memory|heap limit|allocation fail|bad_alloc/i;
/** Bytes of a message besides the output of a task, such as those of an error. */
const ENVELOPE_BYTES = 1024 * 1024;
/** Against a busy process of the product, a task gets a quarter of a core. */
const NICENESS = 5;
/** Characters kept of what a child last wrote to stderr. */
const TAIL = 4_096;

export interface TaskOptions<Part> {
  timeoutMs: number;
  signal?: AbortSignal | undefined;
  /** Takes one part of the output. The child waits for it, and its time limit stands still. */
  onPart?: ((part: Part) => Promise<void>) | undefined;
}

export type Child = ReturnType<typeof startChild>;

export type StartOptions = Omit<ChildOptions, 'parent' | 'folder'> &
  Required<Pick<ProcessPoolOptions, 'memoryMb' | 'addons' | 'readable'>>;

/**
 * Starts a child process that may use code, the files of its task, and nothing else.
 * @throws Error when the system has no room for a process
 */
export function startChild({ memoryMb, addons, readable, ...options }: StartOptions) {
  const folder = mkdtempSync(join(tmpdir(), 'postback-reader-'));
  const flags = [`--max-old-space-size=${memoryMb}`, '--max-semi-space-size=16'];
  const own = JSON.stringify({ ...options, parent: process.pid, folder });
  const child = spawn(process.execPath, [...flags, ...permissionArguments(folder, addons, readable), CHILD, own], {
    env: {
      ...Object.fromEntries(PASSED_ON.flatMap((name) => (process.env[name] ? [[name, process.env[name]]] : []))),
      TMPDIR: folder,
    },
    stdio: ['ignore', 'ignore', 'pipe', 'pipe'],
  });
  const kill = () => void child.kill('SIGKILL');
  // When the process cannot be started, or not be killed.
  child.on('error', kill);
  const removeFolder = () => rm(folder, { recursive: true, force: true }).catch(() => undefined);
  if (child.pid === undefined) {
    void removeFolder();
    throw new Error('no process could be started');
  }
  preferOthers(child.pid);
  const pipe = child.stdio[CHANNEL_FD] as Duplex;
  pipe.on('error', kill);
  const { arrivals, send } = createChannel<ToChild, FromChild>(pipe, options.maxOutputBytes + ENVELOPE_BYTES);
  arrivals.once('broken', kill);
  // `close` and not `exit`, so that all of stderr has been read.
  const closed = once(child, 'close').catch(() => [null, null]) as Promise<[number | null, NodeJS.Signals | null]>;
  const exited = closed.finally(removeFolder);
  let stderr = '';
  (child.stderr as Readable).on('data', (text) => {
    stderr = (stderr + text).slice(-TAIL);
  });
  let alive = true;
  let resident = 0;
  /** Ends the wait for the running task. */
  let stop = new AbortController();
  void closed.then(([code, signal]) => {
    alive = false;
    const outOfMemory = signal === OUT_OF_MEMORY || NO_MEMORY.test(stderr);
    stop.abort(outOfMemory ? new TaskLimitError('memory') : new ProcessLostError(signal ?? `exit code ${code}`));
  });

  /** Kills the process. Resolves when it has ended. */
  async function end(): Promise<void> {
    alive = false;
    child.kill('SIGKILL');
    await exited;
  }

  async function nextMessage(ended: AbortSignal, toChild: ToChild): Promise<FromChild> {
    ended.throwIfAborted();
    const message = once(arrivals, 'message', { signal: ended });
    send(toChild);
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
    resident = message.resident;
    if ('error' in message) return { error: Object.assign(new Error(message.error.message), message.error) };
    return { result: deserialize(message.result) as Result };
  }

  /** The task with its files at paths that the child may use. What the last task left there is removed. */
  function withLinks(task: unknown): unknown {
    if (!alive) return task;
    for (const name of readdirSync(folder)) rmSync(join(folder, name), { recursive: true, force: true });
    if (typeof task !== 'object' || task === null) return task;
    const links: Record<string, string> = {};
    for (const [field, file] of Object.entries(task)) {
      if (!FILES.includes(field) || typeof file !== 'string') continue;
      links[field] = join(folder, field);
      // Node's permission model checks the link's place, not the file's. The child cannot make such links itself.
      symlinkSync(resolve(file), links[field]);
    }
    return Object.keys(links).length > 0 ? { ...task, ...links } : task;
  }

  /** @throws TaskLimitError, ProcessLostError, the signal's reason, an error of `onPart`, or the error that the task threw */
  async function run<Result, Part>(task: unknown, options: TaskOptions<Part>): Promise<Result> {
    let outcome: { result: Result } | { error: Error };
    try {
      outcome = await converse<Result, Part>(withLinks(task), options);
    } catch (error) {
      // Whatever the reason, the child is in the middle of the task.
      await end();
      throw error;
    }
    if ('error' in outcome) throw outcome.error;
    return outcome.result;
  }

  return {
    /** False when the process has ended or is ending. */
    get alive() {
      return alive;
    },
    /** Resident memory after the last task, in bytes. */
    get resident() {
      return resident;
    },
    run,
    end,
    onExit: (listener: () => void) => void exited.then(listener),
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

/**
 * A child gets the processor time that the product leaves, and where the system kills a process because memory is short, it takes
 * the child. It cannot do so itself: it has no access to /proc.
 */
function preferOthers(pid: number): void {
  try {
    setPriority(pid, NICENESS);
    // On Linux, a priority belongs to a thread. Later threads inherit that of the first.
    for (const thread of readdirSync(`/proc/${pid}/task`)) setPriority(Number(thread), NICENESS);
    writeFileSync(`/proc/${pid}/oom_score_adj`, '1000');
  } catch {
    // Only Linux has these files, and the process may have ended.
  }
}
