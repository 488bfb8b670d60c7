import { createSemaphore } from '../../domain/semaphore.js';
import { type Child, startChild, type TaskOptions } from './child-handle.js';

export interface ProcessPoolOptions {
  /** The compiled module of the work; its default export is `Work`. */
  worker: URL;
  /** Tasks at the same time, each in a process of its own. */
  processes: number;
  /** JavaScript heap of one process in MiB. A task that needs more is ended with its process. */
  memoryMb: number;
  /** Resident memory of one process in MiB, with its native libraries and buffers. Default: the heap and 128. */
  residentMb?: number;
  /** For one task from its start, without its time in the queue and without the time that its output waits. */
  timeoutMs: number;
  /** Bytes that one task may return. */
  maxOutputBytes?: number;
  /** Whether the work loads native packages, which Node's permission model does not bind. Default: it may not. */
  addons?: boolean;
  /** Folders with files that the work reads, besides those of its task, which it may write to. */
  readable?: readonly string[];
  /** How long a process waits for its next task. Default: three seconds. */
  idleMs?: number | undefined;
}

export interface ProcessPool<Task, Result, Part = never> {
  /**
   * @param owner whose task it is: the tasks of owners that wait for a process take turns
   * @throws TaskLimitError when a limit ended the task, ProcessLostError when its process ended by itself, the signal's
   * reason when it was aborted, an Error when no process could be started, or the error that the task threw
   */
  run(task: Task, signal?: AbortSignal, onPart?: TaskOptions<Part>['onPart'], owner?: string): Promise<Result>;
  /** Kills the processes with their running tasks. */
  close(): Promise<void>;
}

interface IdleChild {
  child: Child;
  timer?: NodeJS.Timeout;
}

/** Files that arrive one after the other share a process; an idle one must not add its memory to that of another pool's. */
const IDLE_MS = 3_000;

/**
 * Runs tasks on foreign input in child processes with limits. A task that exceeds a limit, crashes its process or gets it
 * killed ends alone: this process and all other tasks continue.
 */
export function createProcessPool<Task, Result, Part = never>(
  options: ProcessPoolOptions,
): ProcessPool<Task, Result, Part> {
  const {
    memoryMb,
    timeoutMs,
    addons = false,
    readable = [],
    idleMs = IDLE_MS,
    maxOutputBytes = 256 * 1024 * 1024,
  } = options;
  const residentMb = options.residentMb ?? memoryMb + 128;
  const semaphore = createSemaphore({ places: options.processes });
  const children = new Set<Child>();
  const idle: IdleChild[] = [];

  function start(): Child {
    const { href: worker } = options.worker;
    const child = startChild({ worker, residentMb, maxOutputBytes, memoryMb, addons, readable });
    children.add(child);
    child.onExit(() => children.delete(child));
    return child;
  }

  function take(): Child {
    for (let waiting = idle.pop(); waiting; waiting = idle.pop()) {
      clearTimeout(waiting.timer);
      if (waiting.child.alive) return waiting.child;
    }
    return start();
  }

  /** Keeps the process for the next task, unless its libraries have kept much memory. */
  function giveBack(child: Child): void {
    if (!child.alive) return;
    if (child.resident > (residentMb * 1024 * 1024) / 2) return void child.end();
    const entry: IdleChild = { child };
    idle.push(entry);
    if (idleMs === Number.POSITIVE_INFINITY) return;
    entry.timer = setTimeout(() => {
      idle.splice(idle.indexOf(entry), 1);
      void child.end();
    }, idleMs).unref();
  }

  return {
    async run(task, signal, onPart, owner) {
      const leave = await semaphore.acquire(signal, owner);
      try {
        const child = take();
        try {
          return await child.run<Result, Part>(task, { timeoutMs, signal, onPart });
        } finally {
          giveBack(child);
        }
      } finally {
        leave();
      }
    },
    async close() {
      await Promise.all([...children].map((child) => child.end()));
    },
  };
}
