import { Piscina } from 'piscina';

export interface ThreadPoolOptions {
  /** The worker's module, as compiled. */
  worker: URL;
  threads: number;
  /** Heap of one thread; a task that needs more ends with its thread. */
  memoryMb: number;
  /** For one task from when it starts, not from when it queues. */
  timeoutMs: number;
}

/** A task was ended because it took too long or too much memory. */
export class TaskLimitError extends Error {
  override readonly name = 'TaskLimitError';
  constructor(readonly limit: 'time' | 'memory') {
    super(`The task was over its ${limit} limit.`);
  }
}

export interface ThreadPool<Task, Result> {
  /** @throws TaskLimitError when a limit ended it; the signal's reason when the caller did */
  run(task: Task, signal?: AbortSignal): Promise<Result>;
  /** Ends the threads with whatever they are doing. */
  close(): Promise<void>;
}

/** Threads are given back after this long without work. */
const IDLE_MS = 10_000;

/** Runs tasks in worker threads with a time and a memory limit; a task over one of them loses its thread. */
export function createThreadPool<Task, Result>(options: ThreadPoolOptions): ThreadPool<Task, Result> {
  const { threads, memoryMb, timeoutMs } = options;
  const pool = new Piscina<Task, Result>({
    filename: options.worker.href,
    minThreads: 0,
    maxThreads: threads,
    idleTimeout: IDLE_MS,
    resourceLimits: { maxOldGenerationSizeMb: memoryMb, maxYoungGenerationSizeMb: 32 },
    // Atomics would block a thread between tasks, and with it the messages of a thread it has started itself.
    atomics: 'disabled',
  });
  const slots = createSlots(threads);

  async function run(task: Task, signal?: AbortSignal): Promise<Result> {
    await slots.take(signal);
    const timeout = AbortSignal.timeout(timeoutMs);
    try {
      return await pool.run(task, { signal: signal ? AbortSignal.any([signal, timeout]) : timeout });
    } catch (error) {
      signal?.throwIfAborted();
      if (timeout.aborted) throw new TaskLimitError('time');
      if ((error as NodeJS.ErrnoException).code === 'ERR_WORKER_OUT_OF_MEMORY') throw new TaskLimitError('memory');
      throw error;
    } finally {
      slots.give();
    }
  }
  return { run, close: () => pool.destroy() };
}

/** Piscina's own queue would let the time limit run while a task waits; so it never gets more tasks than threads. */
function createSlots(count: number) {
  let free = count;
  const waiting: (() => void)[] = [];
  return {
    async take(signal?: AbortSignal): Promise<void> {
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
    give(): void {
      const next = waiting.shift();
      if (next) next();
      else free++;
    },
  };
}
