import Router from '@koa/router';
import type { Logger } from 'pino';
import { z } from 'zod';
import {
  addressesOf,
  changeConnectorSchema,
  createConnectorSchema,
  SETTINGS_SCHEMAS,
} from '../../domain/connectors/connectors.js';
import { ServiceError } from '../../domain/errors.js';
import { newConnectorId } from '../../domain/ids.js';
import type { OutboundClient } from '../../domain/outbound.js';
import type { ConnectorRecord, Connectors } from '../../storage/connectors/connectors.js';
import type { Databases } from '../../storage/content/databases.js';
import type { IdempotencyKeys } from '../../storage/idempotency-keys.js';
import type { ConnectorStarters } from '../../temporal/connectors/starters.js';
import { startOrDefer } from '../../temporal/workflow-starter.js';
import { plainOperations } from '../content-operations.js';
import { openCursor, pageOf, pageQuerySchema } from '../pagination.js';
import type { RequestState } from '../request-context.js';
import { read, rejectBlockedUrl } from '../validation.js';
import { connectorDeletedSchema, connectorListSchema, connectorSchema, describeConnector } from './responses.js';

const operation = plainOperations('Connectors');

export interface ConnectorDependencies {
  connectors: Connectors;
  databases: Databases;
  idempotencyKeys: IdempotencyKeys;
  outbound: OutboundClient;
  starters: ConnectorStarters;
  log: Logger;
}

const CURSOR = /^con_[0-9a-z]{26}$/;

const deleteQuerySchema = z.object({
  items: z.enum(['keep', 'remove']).default('keep').meta({ description: 'What becomes of its items.' }),
});

/** Connectors: what is synced from where, and how often. */
export function connectorRoutes(deps: ConnectorDependencies): Router<RequestState> {
  const router = new Router<RequestState>({ prefix: '/connectors' });
  const { connectors, databases, idempotencyKeys, outbound, starters } = deps;

  router.post(
    '/',
    operation(
      {
        summary: 'Set up a connector',
        description: 'Its first sync starts at once, unless its schedule is paused.',
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
      },
      async (ctx, { body, respondWith }) => {
        const { org } = ctx.state.principal;
        const database = await databases.requireForOrg(org, body.database);
        await refuseBlockedSettings(body.settings);
        const now = new Date();
        const fields = {
          _id: newConnectorId(),
          org,
          kind: body.kind,
          database_id: database._id,
          database: database.name,
          collection: body.collection,
          settings: body.settings,
          schedule: body.schedule,
          sync: null,
          listing: {},
          pending: true,
          deleted_at: null,
          remove_items: false,
          created_at: now,
          updated_at: now,
        };
        const credentials = body.kind === 's3' ? (body.credentials ?? null) : null;
        const response = {
          ...describeConnector({ ...fields, sealed_credentials: null }),
          credentials_configured: credentials !== null,
        };
        await applySchedule(await respondWith(response, (tx) => connectors.add(fields, credentials, tx)));
      },
    ),
  );

  router.get(
    '/',
    operation(
      { summary: 'List connectors', query: pageQuerySchema, status: 200, response: connectorListSchema },
      async (ctx, { query: { limit, cursor }, respond }) => {
        const before = cursor === undefined ? undefined : openCursor(cursor, CURSOR);
        const found = await connectors.listForOrg(ctx.state.principal.org, { before, limit: limit + 1 });
        const { shown, next_cursor } = pageOf(found, limit, ({ _id }) => _id);
        respond({ connectors: shown.map(describeConnector), count: shown.length, next_cursor });
      },
    ),
  );

  router.get(
    '/:connector_id',
    operation(
      { summary: 'One connector', status: 200, response: connectorSchema, errors: ['CONNECTOR_NOT_FOUND'] },
      async (ctx, { respond }) =>
        respond(describeConnector(await findConnector(connectors, ctx.state.principal.org, ctx.params.connector_id!))),
    ),
  );

  router.patch(
    '/:connector_id',
    operation(
      {
        summary: 'Change settings, credentials or schedule',
        description:
          'What is left out stays. Settings are replaced as a whole; what they lead to is synced as scheduled.',
        body: changeConnectorSchema,
        example: { schedule: { every: 12, paused: false } },
        status: 200,
        response: connectorSchema,
        errors: ['CONNECTOR_NOT_FOUND'],
      },
      async (ctx, { body, respond }) => {
        const { org } = ctx.state.principal;
        const before = await findConnector(connectors, org, ctx.params.connector_id!);
        if (body.credentials && before.kind !== 's3') {
          throw new ServiceError('VALIDATION_ERROR', 'credentials: only connectors of kind s3 have them');
        }
        const settings = body.settings && readSettings(before, body.settings);
        if (settings) await refuseBlockedSettings(settings);
        const changed = await connectors.update(org, before._id, {
          ...(settings ? { settings } : {}),
          ...(body.schedule ? { schedule: { ...before.schedule, ...given(body.schedule) } } : {}),
          credentials: body.credentials,
        });
        if (!changed) throw notFound(before._id);
        respond(describeConnector(changed));
        await applySchedule(changed);
      },
    ),
  );

  router.delete(
    '/:connector_id',
    operation(
      {
        summary: 'Delete a connector and its schedule',
        query: deleteQuerySchema,
        status: 200,
        response: connectorDeletedSchema,
        errors: ['CONNECTOR_NOT_FOUND'],
      },
      async (ctx, { query, respond }) => {
        const id = ctx.params.connector_id!;
        const deleted = await connectors.markDeleted(ctx.state.principal.org, id, query.items === 'remove');
        if (!deleted) throw notFound(id);
        respond({ id, deleted: true, items: query.items === 'remove' ? 'removing' : 'kept' });
        await applySchedule(deleted);
      },
    ),
  );

  return router;

  async function refuseBlockedSettings(settings: ConnectorRecord['settings']): Promise<void> {
    await Promise.all(addressesOf(settings).map(([field, url]) => rejectBlockedUrl(outbound, field, url)));
  }

  /** Brings Temporal in line with the record, now or later. */
  async function applySchedule(connector: ConnectorRecord): Promise<void> {
    await startOrDefer(deps.log, 'schedule', { connector: connector._id }, async () => {
      await starters.applyConnector(connector);
      await connectors.markApplied(connector);
    });
  }
}

/** @throws ServiceError that names the field */
function readSettings({ kind }: ConnectorRecord, settings: unknown): ConnectorRecord['settings'] {
  return read(z.object({ settings: SETTINGS_SCHEMAS[kind] }), { settings }).settings;
}

/** Without what is not there. */
function given<T extends object>(fields: T): { [Name in keyof T]: Exclude<T[Name], undefined> } {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as never;
}

/** @throws ServiceError CONNECTOR_NOT_FOUND */
export async function findConnector(connectors: Connectors, org: string, id: string): Promise<ConnectorRecord> {
  return (await connectors.findForOrg(org, id)) ?? Promise.reject(notFound(id));
}

function notFound(id: string): ServiceError {
  return new ServiceError('CONNECTOR_NOT_FOUND', `There is no connector "${id}".`);
}
