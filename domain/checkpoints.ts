/** Results of the finished parts (pages) of one piece of work, kept where they survive the worker. Never in a Temporal history. */
export interface Parts {
  /** @returns what was saved, or undefined */
  load(part: string): Promise<unknown | undefined>;
  save(part: string, value: unknown): Promise<void>;
}

/** For work that nobody takes up again. */
export const noCheckpoints: Parts = { load: async () => undefined, save: async () => {} };
