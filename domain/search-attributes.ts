/**
 * The search attributes by which operators find workflows in the Temporal UI. Workflows and starters set them, and they are
 * registered with the server before the first workflow starts.
 */
export const SEARCH_ATTRIBUTES = {
  organisation: { name: 'PostbackOrganisation', type: 'KEYWORD' },
  database: { name: 'PostbackDatabase', type: 'KEYWORD' },
  /** The collection of the item, or of a group of items. */
  collection: { name: 'PostbackCollection', type: 'KEYWORD' },
  /** Id of the item, job, execution or connector; the ids of a group of items. */
  source: { name: 'PostbackSource', type: 'KEYWORD_LIST' },
  /** `<feature>/<subfeature>/<provider>` of an AI job. */
  model: { name: 'PostbackModel', type: 'KEYWORD' },
  crew: { name: 'PostbackCrew', type: 'KEYWORD' },
  /** The task that waits for a person; absent while no task waits. */
  waitingFor: { name: 'PostbackWaitingFor', type: 'KEYWORD' },
  waitingSince: { name: 'PostbackWaitingSince', type: 'DATETIME' },
  /** The final state of work that did not succeed; absent otherwise. */
  outcome: { name: 'PostbackOutcome', type: 'KEYWORD' },
} as const;

/** Their types by name, as a Temporal server registers them. */
export const SEARCH_ATTRIBUTE_TYPES: Readonly<Record<string, 'KEYWORD' | 'KEYWORD_LIST' | 'DATETIME'>> =
  Object.fromEntries(Object.values(SEARCH_ATTRIBUTES).map(({ name, type }) => [name, type]));
