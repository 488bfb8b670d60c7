import { call, withQuery } from '../api.js';
import { plural } from '../format.js';
import { html } from '../html.js';
import { sourceOf } from '../pages/connectors.js';
import { nameOf } from '../pages/item.js';
import { linkTo } from '../router.js';
import { isUserKey, session } from '../session.js';
import { Time } from '../ui.js';

/** @typedef {import('../api.js').Schemas} Schemas */
/** @typedef {{ kind: 'webhook' | 'callback' | 'job' | 'item' | 'sync' | 'execution', key: string, what: string, says: string, href: string, link: string, why: string, at: string }} Failure of one thing, or of many for one reason */

/** Databases, connectors and crews that are looked at. */
const MAX_PLACES = 10;
const MAX_JOBS = 5;
/** Attempts after which a callback that is still retried shows: they take five minutes. Fewer pass by themselves. */
const MANY_ATTEMPTS = 3;

/**
 * What has failed and stays so until somebody acts, the newest first.
 * @param {AbortSignal} signal
 * @returns {Promise<Failure[]>}
 */
export async function loadFailures(signal) {
  const found = await Promise.all([
    disabledWebhook(signal),
    failedCallbacks('permanently_failed', 'did not accept', signal),
    failedCallbacks('failed', 'still rejects', signal),
    failedJobs(signal),
    failedItems(signal),
    failedSyncs(signal),
    failedExecutions(signal),
  ]);
  return found.flat().sort((a, b) => b.at.localeCompare(a.at));
}

/** @param {AbortSignal} signal @returns {Promise<Failure[]>} */
async function disabledWebhook(signal) {
  const { url, disabled_at, disabled_reason } = await call('GET', '/webhooks/indexing', { signal });
  if (disabled_at === null) return [];
  const href = linkTo('deliveries', { kind: 'item' });
  return [
    {
      kind: 'webhook',
      key: 'webhook',
      what: url,
      says: 'gets no webhooks any more',
      href,
      link: 'Deliveries',
      why: disabled_reason ?? '',
      at: disabled_at,
    },
  ];
}

/**
 * By receiver: one that is down fails many deliveries.
 * @param {'permanently_failed' | 'failed'} status
 * @param {string} says what the receiver does
 * @param {AbortSignal} signal
 * @returns {Promise<Failure[]>}
 */
async function failedCallbacks(status, says, signal) {
  const { deliveries } = await call('GET', withQuery('/deliveries', { status, limit: 100 }), { signal });
  /** @type {Map<string, Schemas['Delivery'][]>} */
  const groups = new Map();
  for (const delivery of /** @type {Schemas['Delivery'][]} */ (deliveries)) {
    if (delivery.attempts < MANY_ATTEMPTS && status === 'failed') continue;
    // Only keys of a crew may read its receivers.
    const receiver = delivery.url ?? (delivery.crew ? `The receiver of ${delivery.crew}` : 'No receiver');
    groups.set(receiver, [...(groups.get(receiver) ?? []), delivery]);
  }
  return [...groups].flatMap(([what, [newest, ...others]]) =>
    newest
      ? [
          {
            kind: /** @type {const} */ ('callback'),
            key: `${status} ${what}`,
            what,
            says: `${says} ${plural(others.length + 1, 'callback')}, the last`,
            href: linkTo('deliveries', { id: newest.delivery_id }),
            link: newest.crew ?? newest.doc_id,
            why: newest.error_message ?? newest.error_code ?? '',
            at: newest.updated_at,
          },
        ]
      : [],
  );
}

/** Jobs that a person cancelled are no failures. @param {AbortSignal} signal @returns {Promise<Failure[]>} */
async function failedJobs(signal) {
  const { jobs } = await call('GET', withQuery('/v3/ai/async', { status: 'fail', limit: MAX_JOBS }), { signal });
  return /** @type {Schemas['JobSummary'][]} */ (jobs)
    .filter(({ error }) => error?.code !== 'cancelled')
    .map(({ job_id, subject, feature, subfeature, error, created_at, finished_at }) => ({
      kind: /** @type {const} */ ('job'),
      key: job_id,
      what: `${feature}/${subfeature}`,
      says: 'failed for',
      href: linkTo('jobs', { id: job_id }),
      link: subject ?? job_id,
      why: error?.message ?? '',
      at: finished_at ?? created_at,
    }));
}

/** By database. @param {AbortSignal} signal @returns {Promise<Failure[]>} */
async function failedItems(signal) {
  const { databases } = await call('GET', withQuery('/databases', { limit: MAX_PLACES }), { signal });
  const lists = await Promise.all(
    /** @type {Schemas['Database'][]} */ (databases)
      .filter(({ status }) => status === 'ready')
      .map(async ({ database }) => {
        const path = withQuery('/context/list', { database, status: 'errored', limit: 100 });
        const { items, next_cursor } = await call('GET', path, { signal });
        const [newest] = items;
        if (!newest) return [];
        return [
          {
            kind: /** @type {const} */ ('item'),
            key: `items ${database}`,
            what: database,
            says: `has ${items.length}${next_cursor ? '+' : ''} failed ${items.length === 1 ? 'item' : 'items'}, the last`,
            href: linkTo('items', { database, status: 'errored', id: newest.id, collection: newest.collection }),
            link: nameOf(newest),
            why: newest.error_message ?? newest.error_code ?? '',
            at: newest.updated_at,
          },
        ];
      }),
  );
  return lists.flat();
}

/** Connectors whose last sync failed as a whole. @param {AbortSignal} signal @returns {Promise<Failure[]>} */
async function failedSyncs(signal) {
  const { connectors } = await call('GET', withQuery('/connectors', { limit: MAX_PLACES }), { signal });
  const lists = await Promise.all(
    /** @type {Schemas['Connector'][]} */ (connectors).map(async (connector) => {
      const { last_sync } = await call('GET', `/connectors/${connector.id}/status?limit=1`, { signal });
      if (last_sync?.status !== 'failed') return [];
      return [
        {
          kind: /** @type {const} */ ('sync'),
          key: connector.id,
          what: `${connector.database}/${connector.collection}`,
          says: 'is not up to date, the last sync failed of',
          href: linkTo('connectors', { id: connector.id }),
          link: sourceOf(connector),
          why: last_sync.error_message ?? last_sync.error_code ?? '',
          at: last_sync.finished_at ?? last_sync.started_at,
        },
      ];
    }),
  );
  return lists.flat();
}

/** Crews whose last execution failed, and was not cancelled, for a key that may list them. @param {AbortSignal} signal @returns {Promise<Failure[]>} */
async function failedExecutions(signal) {
  const key = session.key('crew');
  if (key === null || isUserKey(key)) return [];
  const { crews } = await call('GET', '/crews', { as: 'crew', signal });
  const lists = await Promise.all(
    /** @type {Schemas['Crew'][]} */ (crews).slice(0, MAX_PLACES).map(async ({ name }) => {
      const path = `/crews/${encodeURIComponent(name)}/executions?limit=1`;
      const { executions } = await call('GET', path, { as: 'crew', signal });
      const [last] = /** @type {Schemas['CrewExecutionSummary'][]} */ (executions);
      if (last?.status !== 'error' || last.error_code === 'cancelled') return [];
      return [
        {
          kind: /** @type {const} */ ('execution'),
          key: last.execution_id,
          what: name,
          says: 'failed in its last execution',
          href: linkTo('crews', { crew: name, run: name, id: last.execution_id }),
          link: last.execution_id,
          why: last.error ?? '',
          at: last.finished_at ?? last.created_at,
        },
      ];
    }),
  );
  return lists.flat();
}

/** @param {{ failures: Failure[] }} props */
export const Failures = ({ failures }) => html`
  <section class="card" aria-label="Needs attention">
    <h2>Needs attention</h2>
    <ul class="rows">
      ${failures.map(
        ({ key, what, says, href, link, why, at }) => html`
          <li key=${key}>
            <span class="grow"><b>${what}</b> <span class="muted">${says} </span><a href=${href}>${link}</a>${why && html`<span class="muted">: ${why}</span>`}</span>
            <${Time} at=${at} />
          </li>
        `,
      )}
    </ul>
    ${
      failures.some(({ kind }) => kind === 'callback') &&
      html`<p><a href=${linkTo('deliveries', { status: 'permanently_failed' })}>All failed deliveries</a>, to retry one or all of them.</p>`
    }
  </section>
`;
