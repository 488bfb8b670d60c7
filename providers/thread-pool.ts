import { Piscina } from 'piscina';

export interface ThreadPoolOptions {
  /** The compiled module of the worker. */
  worker: URL;
  threads: number;
  /** Heap of one thread in MiB. A task that needs more is ended with its thread. */
  memoryMb: number;
  /** For one task from its start, without its time in the queue. */
  timeoutMs: number;
}

/** A task was ended because it exceeded its time or memory limit. */
export class TaskLimitError extends Error {
  override readonly name = 'TaskLimitError';
  constructor(readonly limit: 'time' | 'memory') {
    super(`The task exceeded its ${limit} limit.`);
  }
}

export interface ThreadPool<Task, Result> {
  /** @throws TaskLimitError when a limit ended the task; the signal's reason when it was aborted */
  run(task: Task, signal?: AbortSignal): Promise<Result>;
  /** Terminates the threads and their running tasks. */
  close(): Promise<void>;
}

/** Threads without work end after this time. */
const IDLE_MS = 10_000;

/** Runs tasks in worker threads with a time and a memory limit. A task that exceeds a limit is ended with its thread. */
export function createThreadPool<Task, Result>(options: ThreadPoolOptions): ThreadPool<Task, Result> {
  const { threads, memoryMb, timeoutMs } = options;
  const pool = new Piscina<Task, Result>({
    filename: options.worker.href,
    minThreads: 0,
    maxThreads: threads,
    idleTimeout: IDLE_MS,
    resourceLimits: { maxOldGenerationSizeMb: memoryMb, maxYoungGenerationSizeMb: 32 },
    // Atomics would block a thread between tasks, and with it the messages of threads that it started itself.
    atomics: 'disabled',
  });
  const semaphore = createSemaphore(threads);

  async function run(task: Task, signal?: AbortSignal): Promise<Result> {
    await semaphore.acquire(signal);
    const timeout = AbortSignal.timeout(timeoutMs);
    try {
      return await pool.run(task, { signal: signal ? AbortSignal.any([signal, timeout]) : timeout });
    } catch (error) {
      signal?.throwIfAborted();
      if (timeout.aborted) throw new TaskLimitError('time');
      if ((error as NodeJS.ErrnoException).code === 'ERR_WORKER_OUT_OF_MEMORY') throw new TaskLimitError('memory');
      throw error;
    } finally {
      semaphore.release();
    }
  }
  return { run, close: () => pool.destroy() };
}

/** Limits the running tasks to the number of threads. Tasks wait here and not in Piscina's queue, where their time limit would run. */
function createSemaphore(count: number) {
  let free = count;
  const waiting: (() => void)[] = [];
  return {
    async acquire(signal?: AbortSignal): Promise<void> {
      signal?.throwIfAborted();
      if (free > 0) {
        free--;
        return;
      }
      await new Promise<void>((resolve, reject) => {
        const enter = () => {
          signal?.removeEventListener('abort', leave);
          resolve();
        };
        const leave = () => {
          waiting.splice(waiting.indexOf(enter), 1);
          reject(signal?.reason);
        };
        waiting.push(enter);
        signal?.addEventListener('abort', leave, { once: true });
      });
    },
    release(): void {
      const next = waiting.shift();
      if (next) next();
      else free++;
    },
  };
}
