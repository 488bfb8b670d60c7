import { setTimeout as wait } from 'node:timers/promises';
import type { ClientSession, MongoClient } from 'mongodb';
import type { Logger } from 'pino';
import { itemDedupeKey, itemDelivery } from '../../domain/content/item-delivery.js';
import { ServiceError } from '../../domain/errors.js';
import type { ItemQueue } from '../../storage/content/item-queue.js';
import type { ItemRecord } from '../../storage/content/items.js';
import type { Quotas } from '../../storage/quotas.js';
import { inTransaction } from '../../storage/transactions.js';
import type { Deliveries, DeliveryRecord } from '../../storage/webhooks/deliveries.js';
import type { Registrations } from '../../storage/webhooks/registrations.js';
import type { DeliveryStarters } from '../../temporal/webhooks/starters.js';
import { startOrDefer } from '../../temporal/workflow-starter.js';
import type { Draft } from './ingest-drafts.js';
import type { IngestGroups, IngestPlace } from './ingest-groups.js';
import { type IngestPlan, type IngestTarget, planIngest } from './ingest-plan.js';

export interface AcceptDependencies {
  mongoClient: MongoClient;
  itemQueue: ItemQueue;
  deliveries: Deliveries;
  registrations: Registrations;
  quotas: Pick<Quotas, 'admit'>;
  starters: DeliveryStarters;
  ingestGroups: Pick<IngestGroups, 'join'>;
  log: Logger;
}

/** A plan that was committed. */
export interface AcceptedIngest extends IngestPlan {
  /** True when the only item is in a group of several requests, which starts its workflow. */
  grouped: boolean;
}

/** Runs the writes of an ingest with the response that reports the plan; see `respondWith`. */
export type CommitIngest = (plan: IngestPlan, write: (tx?: ClientSession) => Promise<void>) => Promise<void>;

/** How often the plan of a request is repeated when concurrent requests change the same items. */
const MAX_ATTEMPTS = 20;
/** Wait before the first retry; later retries wait longer. */
const PAUSE_MS = 20;

/**
 * Queues new items and the deliveries of unchanged completed items, in one transaction.
 * @returns the plan that was committed
 * @throws ServiceError SOURCE_ALREADY_EXISTS, QUOTA_EXCEEDED
 */
export async function acceptIngest(
  deps: AcceptDependencies,
  drafts: readonly Draft[],
  target: IngestTarget,
  commit: CommitIngest,
): Promise<AcceptedIngest> {
  for (let attempt = 1; ; attempt += 1) {
    const plan = await planIngest(deps.itemQueue, drafts, target);
    const notifications = await unchangedDeliveries(deps, plan, target);
    const place = joinGroup(deps, plan);
    let deliveries: DeliveryRecord[] = [];
    let records: ItemRecord[] = [];
    try {
      const write = async (tx: ClientSession) => {
        records = await deps.itemQueue.add(plan.records, tx);
        await deps.itemQueue.confirmUnchanged(plan.unchanged, new Date(), tx);
        deliveries = await deps.deliveries.addAll(notifications, tx);
      };
      await commit(plan, (outer) =>
        deps.quotas.admit(target.database.org, plan.added, (tx) => inTransaction(deps.mongoClient, write, tx), outer),
      );
    } catch (error) {
      place?.settle(null);
      const conflict = error instanceof ServiceError && error.code === 'SOURCE_ALREADY_EXISTS';
      if (!conflict || attempt === MAX_ATTEMPTS) throw error;
      // Another request has changed one of these items since: repeat the plan with its changes.
      await wait(Math.random() * attempt * PAUSE_MS);
      continue;
    }
    place?.settle(records[0]!);
    // Not awaited, so that the response does not wait for thousands of starts.
    void startOrDefer(deps.log, 'deliveries', { batch: target.batch }, () => deps.starters.startDeliveries(deliveries));
    return { ...plan, records, grouped: Boolean(place?.group) };
  }
}

/** Puts the only item of a request into a group of several requests, when many such requests arrive. */
function joinGroup({ ingestGroups }: AcceptDependencies, { records }: IngestPlan): IngestPlace | null {
  const [item] = records;
  if (!item || records.length > 1) return null;
  const place = ingestGroups.join(item);
  Object.assign(item, place.group);
  return place;
}

/** An unchanged completed item will not complete again, but each request is notified of its items. */
async function unchangedDeliveries(
  deps: AcceptDependencies,
  { unchanged }: IngestPlan,
  { database, collection, batch }: IngestTarget,
) {
  const completed = unchanged.filter(({ indexing_status }) => indexing_status === 'completed');
  if (completed.length === 0) return [];
  const registration = await deps.registrations.findForOrg(database.org);
  if (!registration?.event_types.includes('indexing.status_changed')) return [];
  return completed.map(({ _id, id, version }) =>
    itemDelivery(
      { org: database.org, id, database: database.name, collection, database_id: database._id },
      { status: 'completed' },
      `${itemDedupeKey(_id, version)}/${batch}`,
      new Date(),
    ),
  );
}
