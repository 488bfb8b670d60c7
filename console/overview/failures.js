import { call, withQuery } from '../api.js';
import { plural } from '../format.js';
import { html } from '../html.js';
import { sourceOf } from '../pages/connectors.js';
import { nameOf } from '../pages/item.js';
import { linkTo } from '../router.js';
import { isUserKey, session } from '../session.js';
import { Time } from '../ui.js';

/** @typedef {import('../api.js').Schemas} Schemas */
/** @typedef {{ key: string, isCallback?: boolean, what: string, says: string, href: string, link: string, why: string, at: string }} Failure of one thing, or of many for one reason */

/** Databases, connectors and crews that are looked at. */
const MAX_PLACES = 10;
const MAX_JOBS = 5;
/** Attempts after which a callback that is still retried shows: they take five minutes. Fewer pass by themselves. */
const MANY_ATTEMPTS = 3;

/** @typedef {(path: string, query?: Parameters<typeof withQuery>[1], as?: import('../session.js').KeySlot) => Promise<any>} Read */

/**
 * What has failed and stays so until somebody acts, the newest first.
 * @param {AbortSignal} signal
 * @returns {Promise<Failure[]>}
 */
export async function loadFailures(signal) {
  /** @type {Read} */
  const read = (path, query = {}, as = 'api') => call('GET', withQuery(path, query), { as, signal });
  const found = await Promise.all([
    disabledWebhook(read),
    failedCallbacks(read, 'permanently_failed', 'did not accept'),
    failedCallbacks(read, 'failed', 'still rejects'),
    failedJobs(read),
    failedItems(read),
    failedSyncs(read),
    failedExecutions(read),
  ]);
  return found
    .flat()
    .filter((failure) => failure !== null)
    .sort((a, b) => b.at.localeCompare(a.at));
}

/** @param {Read} read @returns {Promise<Failure | null>} */
async function disabledWebhook(read) {
  const { url, disabled_at, disabled_reason } = await read('/webhooks/indexing');
  if (disabled_at === null) return null;
  return {
    key: 'webhook',
    what: url,
    says: 'gets no webhooks any more',
    href: linkTo('deliveries', { kind: 'item' }),
    link: 'Deliveries',
    why: disabled_reason ?? '',
    at: disabled_at,
  };
}

/**
 * By receiver: one that is down fails many deliveries.
 * @param {Read} read
 * @param {'permanently_failed' | 'failed'} status
 * @param {string} says what the receiver does
 * @returns {Promise<Failure[]>}
 */
async function failedCallbacks(read, status, says) {
  const { deliveries } = await read('/deliveries', { status, limit: 100 });
  const failed = /** @type {Schemas['Delivery'][]} */ (deliveries).filter(
    ({ attempts }) => attempts >= MANY_ATTEMPTS || status !== 'failed',
  );
  // Only keys of a crew may read its receivers.
  const byReceiver = Map.groupBy(failed, ({ url, crew }) => url ?? (crew ? `The receiver of ${crew}` : 'No receiver'));
  return [...byReceiver].map(([what, group]) => {
    const newest = /** @type {Schemas['Delivery']} */ (group[0]);
    return {
      key: `${status} ${what}`,
      isCallback: true,
      what,
      says: `${says} ${plural(group.length, 'callback')}, the last`,
      href: linkTo('deliveries', { id: newest.delivery_id }),
      link: newest.crew ?? newest.doc_id,
      why: whyOf(newest),
      at: newest.updated_at,
    };
  });
}

/** Jobs that a person cancelled are no failures. @param {Read} read @returns {Promise<Failure[]>} */
async function failedJobs(read) {
  const { jobs } = await read('/v3/ai/async', { status: 'fail', limit: MAX_JOBS });
  return /** @type {Schemas['JobSummary'][]} */ (jobs)
    .filter(({ error }) => error?.code !== 'cancelled')
    .map(({ job_id, subject, feature, subfeature, error, created_at, finished_at }) => ({
      key: job_id,
      what: `${feature}/${subfeature}`,
      says: 'failed for',
      href: linkTo('jobs', { id: job_id }),
      link: subject ?? job_id,
      why: error?.message ?? '',
      at: finished_at ?? created_at,
    }));
}

/** By database. @param {Read} read @returns {Promise<(Failure | null)[]>} */
async function failedItems(read) {
  const { databases } = await read('/databases', { limit: MAX_PLACES });
  const ready = /** @type {Schemas['Database'][]} */ (databases).filter(({ status }) => status === 'ready');
  return Promise.all(
    ready.map(async ({ database }) => {
      const { items, next_cursor } = await read('/context/list', { database, status: 'errored', limit: 100 });
      const [newest] = items;
      if (!newest) return null;
      return {
        key: `items ${database}`,
        what: database,
        says: `has ${items.length}${next_cursor ? '+' : ''} failed ${items.length === 1 ? 'item' : 'items'}, the last`,
        href: linkTo('items', { database, status: 'errored', id: newest.id, collection: newest.collection }),
        link: nameOf(newest),
        why: whyOf(newest),
        at: newest.updated_at,
      };
    }),
  );
}

/** Connectors whose last sync failed as a whole. @param {Read} read @returns {Promise<(Failure | null)[]>} */
async function failedSyncs(read) {
  const { connectors } = await read('/connectors', { limit: MAX_PLACES });
  return Promise.all(
    /** @type {Schemas['Connector'][]} */ (connectors).map(async (connector) => {
      const { last_sync } = await read(`/connectors/${connector.id}/status`, { limit: 1 });
      if (last_sync?.status !== 'failed') return null;
      return {
        key: connector.id,
        what: `${connector.database}/${connector.collection}`,
        says: 'is not up to date, the last sync failed of',
        href: linkTo('connectors', { id: connector.id }),
        link: sourceOf(connector),
        why: whyOf(last_sync),
        at: last_sync.finished_at ?? last_sync.started_at,
      };
    }),
  );
}

/** Crews whose last execution failed, and was not cancelled, for a key that may list them. @param {Read} read @returns {Promise<(Failure | null)[]>} */
async function failedExecutions(read) {
  const key = session.key('crew');
  if (key === null || isUserKey(key)) return [];
  const { crews } = await read('/crews', {}, 'crew');
  return Promise.all(
    /** @type {Schemas['Crew'][]} */ (crews).slice(0, MAX_PLACES).map(async ({ name }) => {
      const { executions } = await read(`/crews/${encodeURIComponent(name)}/executions`, { limit: 1 }, 'crew');
      const [last] = /** @type {Schemas['CrewExecutionSummary'][]} */ (executions);
      if (last?.status !== 'error' || last.error_code === 'cancelled') return null;
      return {
        key: last.execution_id,
        what: name,
        says: 'failed in its last execution',
        href: linkTo('crews', { crew: name, run: name, id: last.execution_id }),
        link: last.execution_id,
        why: last.error ?? '',
        at: last.finished_at ?? last.created_at,
      };
    }),
  );
}

/** @param {{ error_message?: string | null, error_code?: string | null }} record */
const whyOf = ({ error_message, error_code }) => error_message ?? error_code ?? '';

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
      failures.some(({ isCallback }) => isCallback) &&
      html`<p><a href=${linkTo('deliveries', { status: 'permanently_failed' })}>All failed deliveries</a>, to retry one or all of them.</p>`
    }
  </section>
`;
