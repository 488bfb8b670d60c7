/** @typedef {import('../api.js').Schemas['Key']} Key */

/**
 * Kinds of key, in the words of the console: what a key of the kind is for, and what stops when it is revoked.
 * @type {Record<Key['kind'], { label: string, use: string, stops: string }>}
 */
export const KINDS = {
  api: {
    label: 'API',
    use: 'Items, queries, AI jobs, webhooks, connectors, and with the scope admin also keys.',
    stops: 'Its ingests, queries, jobs and event streams',
  },
  crew_org: {
    label: 'Crews, organisation',
    use: 'All crews: kickoff, status, decisions, callbacks.',
    stops: 'Its kickoffs, status requests and decisions',
  },
  crew_user: {
    label: 'Crews, user',
    use: 'For a person: what waits for a decision, and the decision.',
    stops: 'The decisions of whoever has it',
  },
  payment_secret: {
    label: 'Payments, secret',
    use: 'For your server: creates, reads and closes authentications.',
    stops: 'The payments of your server: it creates and reads no authentications',
  },
  payment_publishable: {
    label: 'Payments, publishable',
    use: 'For your web page: submits the eligibility check. It may be public.',
    stops: 'The eligibility checks of pages that carry it',
  },
};

export const SCOPES = /** @type {const} */ ({
  read: 'reads and queries',
  write: 'changes',
  admin: 'keys, signing secrets, the audit log',
});

/** The first characters of a key. @param {Key} key */
export const shownKey = ({ prefix }) => `${prefix}…`;
