/**
 * Results of finished steps (pages, pieces of text) of a running job or item. They outlive the worker, so that a retry
 * continues where the last attempt stopped. They are never part of a Temporal history.
 */
export interface Checkpoints {
  /** @returns the saved value, or undefined when the step has none */
  load(step: string): Promise<unknown | undefined>;
  save(step: string, value: unknown): Promise<void>;
}

/** For work that is never resumed. */
export const noCheckpoints: Checkpoints = { load: async () => undefined, save: async () => {} };
