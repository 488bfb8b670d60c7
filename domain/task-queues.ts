/** Task queues: one worker each, scaled on its own. */
export const TASK_QUEUES = ['content', 'ai', 'crews', 'connectors', 'deliveries'] as const;
export type TaskQueue = (typeof TASK_QUEUES)[number];
