/** Sent to a child: a task, or the request for the next part of its output. */
export type ToChild = { task: unknown } | { next: true };

/** Sent by a child. `data` is a value in V8's serialization format, so that the child knows its size before it sends it. */
export type FromChild =
  | { part: Buffer }
  | { result: Buffer /** Resident memory afterwards, in bytes. */; resident: number }
  | { exceeded: 'output' }
  /** The task waits for something that never happens. */
  | { stuck: true }
  | {
      error: { name: string; message: string; code?: string | undefined; detail?: string | undefined };
      resident: number;
    };

/** How a child is started: its arguments, as JSON. */
export interface ChildOptions {
  /** URL of the module that does the work. */
  worker: string;
  /** The process that the child must not outlive. */
  parent: number;
  /** The only folder that the child may use. It removes it when the parent has ended. */
  folder: string;
  /** Resident memory after which the child ends itself, in MiB. */
  residentMb: number;
  /** Bytes that one task may return, in all parts. */
  maxOutputBytes: number;
}

/** The signal by which a child ends itself when it has exceeded its resident memory. Nothing else sends it. */
export const OUT_OF_MEMORY = 'SIGUSR2';

/**
 * The work of a child: the default export of its module.
 * @param emit sends one part of the output; resolves when the parent has dealt with it
 */
export type Work<Task, Result, Part = never> = (task: Task, emit: (part: Part) => Promise<void>) => Promise<Result>;

/** A task exceeded a limit and was ended, with its process if necessary. Its input is at fault. */
export class TaskLimitError extends Error {
  override readonly name = 'TaskLimitError';
  /** `output`: the task produced more than it may return. */
  readonly limit: 'time' | 'memory' | 'output';

  constructor(limit: TaskLimitError['limit']) {
    super(`The task exceeded its ${limit} limit.`);
    this.limit = limit;
  }
}

/**
 * A task waits, but nothing is in progress in its process that it could wait for: its library lost track of damaged input.
 * It would use up its time limit.
 */
export class StuckTaskError extends TaskLimitError {
  constructor() {
    super('time');
    this.message = 'The task waits for something that never happens.';
  }
}

/**
 * The process of a task ended by itself: a crash of native code, or a kill from outside, such as by the system when it
 * ran out of memory. A repetition may succeed.
 */
export class ProcessLostError extends Error {
  override readonly name = 'ProcessLostError';
  constructor(ended: string) {
    super(`The process of the task ended with ${ended}.`);
  }
}
