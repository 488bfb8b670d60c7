import Router from '@koa/router';
import type { Logger } from 'pino';
import { z } from 'zod';
import {
  addressesOf,
  changeConnectorSchema,
  createConnectorSchema,
  SETTINGS_SCHEMAS,
} from '../../domain/connectors.js';
import { ServiceError } from '../../domain/errors.js';
import { newConnectorId } from '../../domain/ids.js';
import type { OutboundClient } from '../../domain/outbound.js';
import type { Connectors } from '../../storage/connectors.js';
import type { Databases } from '../../storage/databases.js';
import type { IdempotencyKeys } from '../../storage/idempotency-keys.js';
import type { ConnectorRecord } from '../../storage/records/connectors.js';
import type { Launcher } from '../../temporal/launcher.js';
import { settleConnector } from '../../temporal/settle-connector.js';
import type { RequestState } from '../context.js';
import { refuseBlocked } from '../refuse-blocked.js';
import { read } from '../validation.js';
import {
  connectorDeletedSchema,
  connectorListSchema,
  connectorSchema,
  describeConnector,
} from './connector-answers.js';
import { openCursor, pageOf, pageQuerySchema } from './cursor.js';
import { bareOperations } from './document.js';

const operation = bareOperations('Connectors');

export interface ConnectorDependencies {
  connectors: Connectors;
  databases: Databases;
  idempotencyKeys: IdempotencyKeys;
  outbound: OutboundClient;
  launcher: Launcher;
  log: Logger;
}

const CURSOR = /^con_[0-9a-z]{26}$/;

const deleteQuerySchema = z.object({
  items: z.enum(['keep', 'remove']).default('keep').meta({ description: 'What becomes of its items.' }),
});

/** Connectors: what is synced from where, and how often. */
export function connectorRoutes(deps: ConnectorDependencies): Router<RequestState> {
  const router = new Router<RequestState>({ prefix: '/connectors' });
  const { connectors, databases, idempotencyKeys, outbound, launcher } = deps;

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
        answers: connectorSchema,
        errors: ['DATABASE_NOT_FOUND'],
        idempotencyKeys,
      },
      async (ctx, { body, answer }) => {
        const { org } = ctx.state.principal;
        const database = await databases.get(org, body.database);
        await refuseBlockedSettings(body.settings);
        const now = new Date();
        const fields = {
          _id: newConnectorId(),
          org,
          kind: body.kind,
          tenant: database._id,
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
        answer({
          ...describeConnector({ ...fields, sealed_credentials: null }),
          credentials_configured: credentials !== null,
        });
        await settle(await connectors.add(fields, credentials, ctx.state.keepAnswer));
      },
    ),
  );

  router.get(
    '/',
    operation(
      { summary: 'List connectors', query: pageQuerySchema, status: 200, answers: connectorListSchema },
      async (ctx, { query: { limit, cursor }, answer }) => {
        const before = cursor === undefined ? undefined : openCursor(cursor, CURSOR);
        const found = await connectors.list(ctx.state.principal.org, { before, limit: limit + 1 });
        const { shown, next_cursor } = pageOf(found, limit, ({ _id }) => _id);
        answer({ connectors: shown.map(describeConnector), count: shown.length, next_cursor });
      },
    ),
  );

  router.get(
    '/:connector_id',
    operation(
      { summary: 'One connector', status: 200, answers: connectorSchema, errors: ['CONNECTOR_NOT_FOUND'] },
      async (ctx, { answer }) =>
        answer(describeConnector(await findConnector(connectors, ctx.state.principal.org, ctx.params.connector_id!))),
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
        answers: connectorSchema,
        errors: ['CONNECTOR_NOT_FOUND'],
      },
      async (ctx, { body, answer }) => {
        const { org } = ctx.state.principal;
        const before = await findConnector(connectors, org, ctx.params.connector_id!);
        if (body.credentials && before.kind !== 's3') {
          throw new ServiceError('VALIDATION_ERROR', 'credentials: only connectors of kind s3 have them');
        }
        const settings = body.settings && readSettings(before, body.settings);
        if (settings) await refuseBlockedSettings(settings);
        const changed = await connectors.change(org, before._id, {
          ...(settings ? { settings } : {}),
          ...(body.schedule ? { schedule: { ...before.schedule, ...given(body.schedule) } } : {}),
          credentials: body.credentials,
        });
        if (!changed) throw notFound(before._id);
        answer(describeConnector(changed));
        await settle(changed);
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
        answers: connectorDeletedSchema,
        errors: ['CONNECTOR_NOT_FOUND'],
      },
      async (ctx, { query, answer }) => {
        const id = ctx.params.connector_id!;
        const deleted = await connectors.markDeleted(ctx.state.principal.org, id, query.items === 'remove');
        if (!deleted) throw notFound(id);
        answer({ id, deleted: true, items: query.items === 'remove' ? 'removing' : 'kept' });
        await settle(deleted);
      },
    ),
  );

  return router;

  async function refuseBlockedSettings(settings: ConnectorRecord['settings']): Promise<void> {
    await Promise.all(addressesOf(settings).map(([field, url]) => refuseBlocked(outbound, field, url)));
  }

  /** It is written down: when Temporal is away at this moment, the sweep settles it. */
  async function settle(connector: ConnectorRecord): Promise<void> {
    try {
      await settleConnector(launcher, connector);
      await connectors.settled(connector);
    } catch (error) {
      deps.log.warn({ err: error, connector: connector._id }, 'connector not settled; the sweep will do it');
    }
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
  return (await connectors.find(org, id)) ?? Promise.reject(notFound(id));
}

function notFound(id: string): ServiceError {
  return new ServiceError('CONNECTOR_NOT_FOUND', `There is no connector "${id}".`);
}
