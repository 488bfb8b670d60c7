/** Responses of the routes for connectors. */
import { z } from 'zod';
import { CONNECTOR_KINDS, scheduleSchema } from '../../domain/connectors/connectors.js';
import { SYNC_STATUSES } from '../../domain/connectors/states.js';
import type { ListedConnector } from '../../storage/connectors/connectors.js';
import type { FailingResource } from '../../storage/connectors/resources.js';
import { listSchema } from '../pagination.js';
import { pickFields } from '../pick-fields.js';

const time = z.iso.datetime();

export const connectorSchema = z
  .object({
    id: z.string(),
    kind: z.enum(CONNECTOR_KINDS),
    database: z.string(),
    collection: z.string(),
    settings: z.record(z.string(), z.unknown()).meta({ description: 'The settings of this kind, including defaults.' }),
    credentials_configured: z.boolean(),
    schedule: z.object({
      every: scheduleSchema.shape.every.unwrap(),
      unit: scheduleSchema.shape.unit.unwrap(),
      paused: z.boolean(),
    }),
    created_at: time,
    updated_at: time,
  })
  .meta({ id: 'Connector' });

export const connectorListSchema = listSchema('connectors', connectorSchema, 'Newest first.');

const countsSchema = z.object({
  new: z.int(),
  changed: z.int(),
  unchanged: z.int(),
  removed: z.int(),
  failed: z.int(),
});

/** The latest sync. */
export const lastSyncSchema = z.object({
  number: z.int().meta({ description: 'Counts up with each sync of this connector.' }),
  status: z.enum(SYNC_STATUSES),
  started_at: time,
  finished_at: time.nullable(),
  counts: countsSchema,
  truncated: z.boolean().meta({
    description: 'The listing has more resources than one sync fetches; no resource counts as removed then.',
  }),
  error_code: z
    .string()
    .nullable()
    .meta({ description: 'Set when the whole sync failed; no resource is removed then.' }),
  error_message: z.string().nullable(),
});

export const connectorStatusSchema = z.object({
  id: z.string(),
  syncing: z.boolean().meta({ description: 'Whether a sync is running.' }),
  last_sync: lastSyncSchema.nullable(),
  next_sync_at: time.nullable().meta({ description: 'Null while the schedule is paused.' }),
  errors: z
    .array(
      z
        .object({
          resource: z.string().meta({ description: 'URL of a page, id of a feed entry or key of an object.' }),
          item_id: z
            .string()
            .nullable()
            .meta({ description: 'The item of the last version that was fetched; it is kept.' }),
          error_code: z.string(),
          error_message: z.string(),
          at: time,
        })
        .meta({ id: 'SyncError' }),
    )
    .meta({ description: 'Resources whose last fetch has failed.' }),
  next_cursor: z.string().nullable().meta({ description: 'Pass it as `cursor` to get the next page of the errors.' }),
});

export const syncStartedSchema = z.object({
  id: z.string(),
  syncing: z.literal(true),
  message: z.string(),
});

export const connectorDeletedSchema = z.object({
  id: z.string(),
  deleted: z.literal(true),
  items: z.enum(['kept', 'removing']).meta({ description: 'With `removing`, items are removed in the background.' }),
});

/** A connector without its credentials. */
export function describeConnector(record: ListedConnector) {
  return pickFields(connectorSchema, {
    ...record,
    id: record._id,
    settings: { ...record.settings },
    credentials_configured: record.sealed_credentials !== null,
  });
}

/** A resource whose last fetch has failed. */
export function describeFailedResource({ key, item_id, error }: FailingResource) {
  return {
    resource: key,
    item_id,
    error_code: error!.code,
    error_message: error!.message,
    at: error!.at.toISOString(),
  };
}
