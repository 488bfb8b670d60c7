/** A task exceeded a limit and was ended, with its process if need be. Its input is at fault. */
export class TaskLimitError extends Error {
  override readonly name = 'TaskLimitError';
  /** @param limit `output`: the task produced more than it may return */
  constructor(readonly limit: 'time' | 'memory' | 'output') {
    super(`The task exceeded its ${limit} limit.`);
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
