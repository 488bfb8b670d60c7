/** The processes of an instance that write a log of their own. */
export const LOGS = ['api', 'worker', 'embedder'] as const;
