import type { Document } from 'mongodb';
import type { StreamedEvent } from '../../domain/events/events.js';

/** An event of one organisation. */
export interface OrgEvent {
  org: string;
  event: StreamedEvent;
}

/** Collections with states that clients see, and how an event names their records. */
const DESCRIBE: Record<string, (record: Document) => object> = {
  items: ({ id, database, collection }) => ({ event: 'indexing.status_changed', id, database, collection }),
  deliveries: ({ _id: delivery_id, event_type, doc_id, crew, payload }) => ({
    event: 'delivery.status_changed',
    delivery_id,
    event_type,
    doc_id,
    ...(payload?.database && { database: payload.database }),
    ...(crew && { crew }),
  }),
  ai_jobs: ({ _id: job_id, feature, subfeature }) => ({ event: 'job.status_changed', job_id, feature, subfeature }),
  crew_executions: ({ _id: execution_id, crew }) => ({ event: 'execution.status_changed', execution_id, crew }),
};

/** Items have the status that the specification names. */
const STATUS_FIELDS = ['indexing_status', 'status'];
const IDENTITY_FIELDS = [
  'org',
  'id',
  'database',
  'collection',
  'doc_id',
  'event_type',
  'crew',
  'feature',
  'subfeature',
];

const fieldsOf = (prefix: string, names: readonly string[]) =>
  Object.fromEntries(names.map((name) => [`${prefix}.${name}`, 1]));

/** Deleted items leave a record of what is still to be cleared. Each deletion gives it another removal. */
const DELETIONS: Document = {
  'ns.coll': 'removed_items',
  'fullDocument.live': { $exists: false },
  $or: [
    { operationType: 'insert' },
    { operationType: 'update', 'updateDescription.updatedFields.removal': { $type: 'string' } },
  ],
};

/** An organisation has one registration, whose id is the organisation's. */
const DISABLED_WEBHOOKS: Document = {
  'ns.coll': 'registrations',
  operationType: 'update',
  'updateDescription.updatedFields.disabled_at': { $type: 'date' },
};

/** New records, updates that change a status, deletions of items and webhooks that are disabled; only the fields that events need. */
export const STATUS_CHANGES: Document[] = [
  {
    $match: {
      $or: [
        {
          'ns.coll': { $in: Object.keys(DESCRIBE) },
          $or: [
            { operationType: { $in: ['insert', 'replace'] } },
            ...STATUS_FIELDS.map((name) => ({
              operationType: 'update',
              [`updateDescription.updatedFields.${name}`]: { $exists: true },
            })),
          ],
        },
        DELETIONS,
        DISABLED_WEBHOOKS,
      ],
    },
  },
  {
    $project: {
      operationType: 1,
      'ns.coll': 1,
      clusterTime: 1,
      wallTime: 1,
      ...fieldsOf('updateDescription.updatedFields', [...STATUS_FIELDS, 'error_code', 'disabled_reason']),
      ...fieldsOf('fullDocument', ['_id', ...IDENTITY_FIELDS, ...STATUS_FIELDS, 'error_code', 'payload.database']),
    },
  },
];

/** @returns null when the record has been deleted since */
export function describeChange({
  operationType,
  ns,
  clusterTime,
  wallTime,
  fullDocument,
  updateDescription,
}: Document): OrgEvent | null {
  const at: Date = wallTime ?? new Date(clusterTime.getHighBitsUnsigned() * 1000);
  if (ns.coll === 'removed_items') return fullDocument ? describeDeletion(fullDocument, at) : null;
  if (ns.coll === 'registrations') return fullDocument ? describeDisabled(fullDocument, updateDescription, at) : null;
  const describe = DESCRIBE[ns.coll];
  if (!describe || !fullDocument) return null;
  const statusField = ns.coll === 'items' ? 'indexing_status' : 'status';
  const changed: Document = operationType === 'update' ? updateDescription.updatedFields : fullDocument;
  const status = changed[statusField];
  if (typeof status !== 'string') return null;
  // The record may have got further since; and a code that was set before is not part of the change.
  const isPresent = fullDocument[statusField] === status;
  const error_code = changed.error_code ?? (isPresent ? fullDocument.error_code : null);
  const event = {
    ...describe(fullDocument),
    status,
    ...(error_code && { error_code }),
    timestamp: at.toISOString(),
  };
  return { org: fullDocument.org, event: event as StreamedEvent };
}

function describeDisabled({ _id: org }: Document, { updatedFields }: Document, at: Date): OrgEvent {
  const reason = String(updatedFields.disabled_reason ?? '');
  return { org, event: { event: 'webhook.disabled', reason, timestamp: at.toISOString() } };
}

function describeDeletion({ org, id, database, collection }: Document, at: Date): OrgEvent | null {
  if (typeof database !== 'string') return null;
  return { org, event: { event: 'item.deleted', id, database, collection, timestamp: at.toISOString() } };
}
