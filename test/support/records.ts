import { newDeliveryId } from '../../domain/ids.js';
import type { IndexingEvent } from '../../domain/webhooks/events.js';
import { type AiJobRecord, queuedJob } from '../../storage/ai-jobs/job-record.js';
import { type DatabaseRecord, newDatabase } from '../../storage/content/databases.js';
import type { DeliveryRecord } from '../../storage/webhooks/deliveries.js';
import { pendingDelivery } from '../../storage/webhooks/new-delivery.js';
import { withDb } from './mongodb.js';

/** A pending delivery as the completion of an item stores it. */
export function deliveryRecord({
  _id,
  org,
  now,
  doc_id = 'report.pdf',
  has_workflow = true,
}: {
  _id: string;
  org: string;
  now: Date;
  doc_id?: string;
  has_workflow?: boolean;
}): DeliveryRecord {
  const payload: IndexingEvent = {
    event: 'indexing.status_changed',
    delivery_id: _id,
    id: doc_id,
    database: 'library',
    collection: 'default',
    tenant_id: 'tnt_test',
    sub_tenant_id: 'default',
    status: 'completed',
    timestamp: now.toISOString(),
    version: 1,
  };
  const { event: event_type, status: indexing_status } = payload;
  const delivery = { _id, org, dedupe_key: `item/${_id}/1`, event_type, doc_id, indexing_status, payload, now };
  return pendingDelivery(delivery, has_workflow);
}

/** Stores a delivery that is due, without the item that it is about. @returns its id */
export async function storeDelivery(mongodbUri: string, org: string, doc_id?: string): Promise<string> {
  const now = new Date();
  const delivery = deliveryRecord({ _id: newDeliveryId(now), org, now, doc_id, has_workflow: false });
  await withDb(mongodbUri, (db) => db.collection<DeliveryRecord>('deliveries').insertOne(delivery));
  return delivery._id;
}

/** A queued job as a submission writes it. */
export function aiJobRecord({ now, ...rest }: Partial<AiJobRecord> & { org: string; now: Date }): AiJobRecord {
  const { org } = rest;
  const request = {
    org,
    feature: 'text',
    subfeature: 'sentiment_analysis',
    provider: 'wink',
    model: null,
    input: JSON.stringify({ text: 'What a happy day.' }),
    file_id: null,
    webhook_receiver: null,
    user_parameters: null,
    show_original_response: false,
    time_limit_ms: 60_000,
    quick: false,
    signing_key: null,
  };
  return { ...queuedJob(request, now), ...rest };
}

/** A database that is open for ingestion. */
export function readyDatabase(_id: string, org: string, name: string): DatabaseRecord {
  return { ...newDatabase(org, name, new Date()), _id, status: 'ready', graph_ready: true };
}
