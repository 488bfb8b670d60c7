import Router, { type RouterContext } from '@koa/router';
import { z } from 'zod';
import {
  addressesOf,
  changeConnectorSchema,
  createConnectorSchema,
  SETTINGS_SCHEMAS,
} from '../../domain/connectors/connectors.js';
import { ServiceError } from '../../domain/errors.js';
import { newConnectorId } from '../../domain/ids.js';
import type { ConnectorRecord } from '../../storage/connectors/connectors.js';
import type { DatabaseRecord } from '../../storage/content/databases.js';
import { applyConnector } from '../../temporal/connectors/apply-connector.js';
import { startOrDefer } from '../../temporal/workflow-starter.js';
import { plainOperations } from '../content-operations.js';
import type { Dependencies } from '../dependencies.js';
import { byId, pageQuery, readPage } from '../pagination.js';
import type { RequestState } from '../request-context.js';
import { read, rejectBlockedUrl } from '../validation.js';
import { connectorDeletedSchema, connectorListSchema, connectorSchema, describeConnector } from './responses.js';

const operation = plainOperations('Connectors');

const NEWEST_FIRST = byId('con');

const deleteQuerySchema = z.object({
  items: z.enum(['keep', 'remove']).default('keep').meta({ description: 'Whether its items are kept or removed.' }),
});

/** Creating, reading, changing and deleting connectors. */
export function connectorRoutes(deps: Dependencies): Router<RequestState> {
  const router = new Router<RequestState>({ prefix: '/connectors' });
  const { connectors, databases, idempotencyKeys, outbound } = deps;

  router.post(
    '/',
    operation(
      {
        summary: 'Create a connector',
        description: 'The first sync starts at once, unless the schedule is paused.',
        body: createConnectorSchema,
        example: {
          kind: 'web',
          database: 'library',
          settings: { sitemap: 'https://example.com/sitemap.xml' },
          schedule: { every: 6, unit: 'hours' },
        },
        status: 201,
        response: connectorSchema,
        errors: ['DATABASE_NOT_FOUND'],
        idempotencyKeys,
        audit: {
          actions: ['connector.created'],
          about: (_, { kind, database }) => ({ subject: { name: `${kind} into ${database}` } }),
          learn: ({ id }) => ({ id }),
        },
      },
      async (_ctx, { org, body, respondWith }) => {
        const database = await databases.requireForOrg(org, body.database);
        await rejectBlockedSettings(body.settings);
        const fields = newConnector(org, database, body, deps.now());
        const credentials = (body.kind === 's3' && body.credentials) || null;
        const response = {
          ...describeConnector({ ...fields, sealed_credentials: null }),
          credentials_configured: credentials !== null,
        };
        const connector = await respondWith(response, (tx) =>
          deps.quotas.admit(org, { connectors: 1 }, (session) => connectors.add(fields, credentials, session), tx),
        );
        await applySchedule(connector);
      },
    ),
  );

  router.get(
    '/',
    operation(
      { summary: 'List connectors', query: pageQuery(NEWEST_FIRST), response: connectorListSchema },
      async (_ctx, { org, query, respond }) => {
        const { records, next_cursor } = await readPage(query, NEWEST_FIRST, (page) =>
          connectors.listForOrg(org, page),
        );
        respond({ connectors: records.map(describeConnector), count: records.length, next_cursor });
      },
    ),
  );

  router.get(
    '/:connector_id',
    operation(
      { summary: 'Get a connector', response: connectorSchema, errors: ['CONNECTOR_NOT_FOUND'] },
      async (ctx, { respond }) => respond(describeConnector(await requireConnector(deps, ctx))),
    ),
  );

  router.patch(
    '/:connector_id',
    operation(
      {
        summary: 'Update a connector',
        description:
          'Absent fields are not changed. `settings` are replaced as a whole, and take effect with the next scheduled sync. ' +
          'A change of `endpoint`, `bucket` or `path_style` requires the `credentials` again (or null): stored credentials are ' +
          'never sent to another server.',
        body: changeConnectorSchema,
        example: { schedule: { every: 12, paused: false } },
        response: connectorSchema,
        errors: ['CONNECTOR_NOT_FOUND'],
        audit: { actions: ['connector.changed'], about: ({ params }) => ({ subject: { id: params.connector_id } }) },
      },
      async (ctx, { org, body, respond }) => {
        const before = await requireConnector(deps, ctx);
        if (body.credentials && before.kind !== 's3') {
          throw new ServiceError('VALIDATION_ERROR', 'credentials: only connectors of kind s3 have credentials');
        }
        const settings = body.settings && read(SETTINGS_SCHEMAS[before.kind], body.settings, { at: 'settings' });
        if (settings) await rejectBlockedSettings(settings);
        const updated = await connectors.update(org, before._id, {
          ...(settings ? { settings } : {}),
          ...(body.schedule ? { schedule: { ...before.schedule, ...body.schedule } } : {}),
          credentials: body.credentials,
        });
        if (!updated) {
          // It exists, unless it was deleted in between.
          await requireConnector(deps, ctx);
          throw new ServiceError(
            'VALIDATION_ERROR',
            'credentials: are required again, because settings name another endpoint, bucket or path_style',
          );
        }
        respond(describeConnector(updated));
        await applySchedule(updated);
      },
    ),
  );

  router.delete(
    '/:connector_id',
    operation(
      {
        summary: 'Delete a connector',
        query: deleteQuerySchema,
        response: connectorDeletedSchema,
        errors: ['CONNECTOR_NOT_FOUND'],
        audit: { actions: ['connector.deleted'], about: ({ params }) => ({ subject: { id: params.connector_id } }) },
      },
      async (ctx, { org, query, respond }) => {
        const id = ctx.params.connector_id!;
        const deleted = await connectors.markDeleted(org, id, query.items === 'remove');
        if (!deleted) throw notFound(id);
        respond({ id, deleted: true, items: query.items === 'remove' ? 'removing' : 'kept' });
        await applySchedule(deleted);
      },
    ),
  );

  return router;

  async function rejectBlockedSettings(settings: ConnectorRecord['settings']): Promise<void> {
    await Promise.all(addressesOf(settings).map(([field, url]) => rejectBlockedUrl(outbound, field, url)));
  }

  /** Makes the schedule in Temporal match the record. */
  async function applySchedule(connector: ConnectorRecord): Promise<void> {
    await startOrDefer(deps.log, 'schedule', { connector: connector._id }, () => applyConnector(deps, connector));
  }
}

function newConnector(
  org: string,
  database: DatabaseRecord,
  { kind, collection, settings, schedule }: z.output<typeof createConnectorSchema>,
  now: Date,
) {
  return {
    _id: newConnectorId(),
    org,
    kind,
    database_id: database._id,
    database: database.name,
    collection,
    settings,
    schedule,
    sync: null,
    listing: {},
    revision: 1,
    pending: true,
    deleted_at: null,
    remove_items: false,
    created_at: now,
    updated_at: now,
  };
}

/** The connector in the path of a request. @throws ServiceError CONNECTOR_NOT_FOUND */
export async function requireConnector(
  { connectors }: Dependencies,
  { state, params }: RouterContext<RequestState>,
): Promise<ConnectorRecord> {
  const connector = await connectors.findForOrg(state.principal.org, params.connector_id!);
  if (!connector) throw notFound(params.connector_id!);
  return connector;
}

function notFound(id: string): ServiceError {
  return new ServiceError('CONNECTOR_NOT_FOUND', `There is no connector "${id}".`);
}
