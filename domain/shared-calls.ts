/** How long calls wait for the call that runs: it may hang on a connection that is gone, while others work. */
const LONGEST_TURN_MS = 50;
/** Inputs of one call. */
const MAX_INPUTS = 50;

export interface SharedCallsOptions<Input, Result> {
  /** Only calls of one key are made together. */
  keyOf: (input: Input) => string;
  /** Makes the call for one or several inputs. @returns their results, in the same order */
  call: (inputs: readonly Input[]) => Promise<readonly (Result | Promise<Result>)[]>;
  /** Calls of one key at a time: with two, one prepares while the other waits for a disk. */
  atOnce?: number;
}

interface Queue<Input, Result> {
  waiting: Waiting<Input, Result>[];
  running: number;
}

interface Waiting<Input, Result> {
  input: Input;
  resolve(result: Result | PromiseLike<Result>): void;
  reject(error: unknown): void;
}

/**
 * Makes calls together that arrive while another runs, because a round trip costs more than what it is for. None waits for others
 * to arrive, and each gets a result of work that began after it: what it reads is as new as without this.
 * @returns a function that resolves with the result of its input
 */
export function createSharedCalls<Input, Result>({
  keyOf,
  call,
  atOnce = 1,
}: SharedCallsOptions<Input, Result>): (input: Input) => Promise<Result> {
  const queues = new Map<string, Queue<Input, Result>>();

  return (input) =>
    new Promise((resolve, reject) => {
      const key = keyOf(input);
      const queue = queues.get(key) ?? { waiting: [], running: 0 };
      queues.set(key, queue);
      queue.waiting.push({ input, resolve, reject });
      startNext(key, queue);
    });

  function startNext(key: string, queue: Queue<Input, Result>): void {
    while (queue.running < atOnce && queue.waiting.length > 0) {
      queue.running += 1;
      const batch = queue.waiting.splice(0, MAX_INPUTS);
      void settledWithin(settle(batch), LONGEST_TURN_MS).then(() => {
        queue.running -= 1;
        startNext(key, queue);
      });
    }
    if (queue.running === 0) queues.delete(key);
  }

  async function settle(batch: readonly Waiting<Input, Result>[]): Promise<void> {
    try {
      const results = await call(batch.map(({ input }) => input));
      for (const [n, { resolve }] of batch.entries()) resolve(results[n]!);
    } catch (error) {
      for (const { reject } of batch) reject(error);
    }
  }
}

/**
 * @param keyOf reads with the same key read the same
 * @returns a function that reads, and shares what was read with the calls of the same key that have waited for it. They must not
 * change it
 */
export function createSharedReads<Input, Result>(
  keyOf: (input: Input) => string,
  read: (input: Input) => Promise<Result>,
): (input: Input) => Promise<Result> {
  return createSharedCalls<Input, Result>({
    keyOf,
    async call(inputs) {
      const result = await read(inputs[0]!);
      return inputs.map(() => result);
    },
  });
}

/** Resolves when the work has succeeded or failed, or after so many milliseconds. */
export function settledWithin(work: Promise<unknown>, ms: number): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, ms);
    const settled = () => {
      clearTimeout(timer);
      resolve();
    };
    work.then(settled, settled);
  });
}
