import { setTimeout as wait } from 'node:timers/promises';
import type { ClientSession } from 'mongodb';
import type { Logger } from 'pino';
import { ServiceError } from '../../domain/errors.js';
import type { Deliveries } from '../../storage/deliveries.js';
import { itemDelivery, itemSubject } from '../../storage/item-callbacks.js';
import type { Items } from '../../storage/items.js';
import type { Registrations } from '../../storage/registrations.js';
import type { Launcher } from '../../temporal/launcher.js';
import type { Draft } from './ingest-drafts.js';
import { type IngestPlan, type IngestTarget, planIngest } from './ingest-plan.js';

export interface AcceptDependencies {
  items: Items;
  deliveries: Deliveries;
  registrations: Registrations;
  launcher: Launcher;
  log: Logger;
}

/** Requests for the same items at the same time come one after the other; so often one may be overtaken. */
const MAX_ATTEMPTS = 20;
/** Milliseconds. */
const PAUSE_MS = 20;

/**
 * Queues what is new and announces what has ended before with this very content, in one transaction.
 * @param alongside part of the transaction
 */
export async function accept(
  deps: AcceptDependencies,
  drafts: readonly Draft[],
  target: IngestTarget,
  alongside: (plan: IngestPlan, session: ClientSession) => Promise<void>,
): Promise<IngestPlan> {
  for (let attempt = 1; ; attempt += 1) {
    const plan = await planIngest(deps.items, drafts, target);
    const announced = await announcementsOf(deps, plan, target);
    try {
      await deps.items.queue(plan.records, async (session) => {
        await deps.items.confirmUnchanged(plan.unchanged, new Date(), session);
        for (const delivery of announced) await deps.deliveries.add(delivery, session);
        await alongside(plan, session);
      });
    } catch (error) {
      const overtaken = error instanceof ServiceError && error.code === 'SOURCE_ALREADY_EXISTS';
      if (!overtaken || attempt === MAX_ATTEMPTS) throw error;
      // Another request was quicker with one of these items; this one comes after it.
      await wait(Math.random() * attempt * PAUSE_MS);
      continue;
    }
    for (const delivery of announced) {
      await deps.launcher.startDelivery(delivery).catch((error) => {
        deps.log.warn({ err: error, delivery: delivery._id }, 'delivery not started; the sweep will start it');
      });
    }
    return plan;
  }
}

/** An unchanged item that has ended will not end again: its client is told how it is, as it would be otherwise. */
async function announcementsOf(
  deps: AcceptDependencies,
  { unchanged }: IngestPlan,
  { database, collection, batch }: IngestTarget,
) {
  const ended = unchanged.filter(({ indexing_status }) => indexing_status === 'completed');
  if (ended.length === 0) return [];
  const registration = await deps.registrations.get(database.org);
  if (!registration?.event_types.includes('indexing.status_changed')) return [];
  return ended.map(({ _id, id, version }) =>
    itemDelivery(
      { org: database.org, id, database: database.name, collection, tenant: database._id },
      { status: 'completed' },
      `${itemSubject(_id, version)}/${batch}`,
      new Date(),
    ),
  );
}
