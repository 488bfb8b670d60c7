/** Task queues: one worker each, scaled on its own. */
export const TASK_QUEUES = ['content', 'ai', 'crews', 'connectors', 'deliveries'] as const;
export type TaskQueue = (typeof TASK_QUEUES)[number];

/** Search attributes by which an operator finds work in the Temporal UI; registered before anything starts. */
export const SEARCH_ATTRIBUTES = {
  PostbackOrganisation: 'Keyword',
  PostbackDatabase: 'Keyword',
  PostbackSource: 'Keyword',
  /** Of an AI job: `<feature>/<subfeature>/<provider>`. */
  PostbackModel: 'Keyword',
  PostbackCrew: 'Keyword',
  /** The task that a person has to answer for, and since when; absent while nobody is waited for. */
  PostbackWaitingFor: 'Keyword',
  PostbackWaitingSince: 'Datetime',
  /** How work ended that did not end well; absent for all other. */
  PostbackOutcome: 'Keyword',
} as const;
