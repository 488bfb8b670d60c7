import Router from '@koa/router';
import type { Logger } from 'pino';
import { z } from 'zod';
import { addMetadataFieldsSchema, createDatabaseSchema, nameSchema } from '../../domain/content/databases.js';
import type { SearchIndex } from '../../domain/content/search.js';
import type { DatabaseContents } from '../../storage/content/database-contents.js';
import type { Databases } from '../../storage/content/databases.js';
import type { IdempotencyKeys } from '../../storage/idempotency-keys.js';
import type { ContentStarters } from '../../temporal/content/starters.js';
import { startOrDefer } from '../../temporal/workflow-starter.js';
import { contentOperations, plainOperations } from '../content-operations.js';
import type { Deprecation } from '../operation.js';
import { openCursor, pageOf, pageQuerySchema } from '../pagination.js';
import type { RequestContext, RequestState } from '../request-context.js';
import {
  collectionsSchema,
  databaseCreatedSchema,
  databaseDeletingSchema,
  databaseListSchema,
  databaseStatsSchema,
  databaseStatusSchema,
  describeDatabase,
  metadataSchemaSchema,
} from './database-responses.js';

export interface DatabaseDependencies {
  databases: Databases;
  contents: DatabaseContents;
  idempotencyKeys: IdempotencyKeys;
  index: SearchIndex;
  starters: ContentStarters;
  temporalReachable: () => Promise<boolean>;
  log: Logger;
}

const CURSOR = /^tnt_[0-9a-z]{26}$/;
const NOT_FOUND = ['DATABASE_NOT_FOUND'] as const;

/** Clients of this one route branch on the status (specification, "Errors"). */
const METADATA_SCHEMA_CODES = {
  INVALID_PARAMETERS: 'INTERNAL_ERROR',
  METADATA_FIELD_CONFLICT: 'INTERNAL_ERROR',
} as const;

/** What sets `/tenants` apart from `/databases` (specification, "Versioning" and "Errors"). */
const TENANTS = {
  deprecated: {
    since: '@1767225600', // 2026-01-01
    successor: (path: string) => path.replace('/tenants', '/databases'),
    fields: { database: 'tenant_id', collection: 'sub_tenant_id', collections: 'sub_tenants', databases: 'tenants' },
  },
  shownAs: { DATABASE_NOT_FOUND: 'NOT_FOUND', DATABASE_ALREADY_EXISTS: 'INVALID_INPUT' },
} as const satisfies { deprecated: Deprecation; shownAs: object };

export const databaseRoutes = (deps: DatabaseDependencies) =>
  routes(deps, {
    path: '/databases',
    parameter: 'database',
    operation: contentOperations('Databases'),
    plainOperation: plainOperations('Databases'),
  });

/** The same routes under their deprecated names and with their old codes. */
export const tenantRoutes = (deps: DatabaseDependencies) =>
  routes(deps, {
    path: '/tenants',
    parameter: 'tenant_id',
    operation: contentOperations('Tenants', TENANTS),
    plainOperation: plainOperations('Tenants', TENANTS),
  });

interface Naming {
  path: string;
  /** Name of the database in the path. */
  parameter: string;
  operation: ReturnType<typeof contentOperations>;
  plainOperation: ReturnType<typeof contentOperations>;
}

function routes(
  deps: DatabaseDependencies,
  { path, parameter, operation, plainOperation }: Naming,
): Router<RequestState> {
  const { databases, contents } = deps;
  const router = new Router<RequestState>({ prefix: path });
  const named = (ctx: RequestContext & { params: Record<string, string> }) => ctx.params[parameter]!;

  router.post(
    '/',
    operation(
      {
        summary: 'Create a database',
        description: 'It may be ingested into once `infra.ready_for_ingestion` is true.',
        body: createDatabaseSchema,
        example: { database: 'library', database_metadata_schema: [{ name: 'year', data_type: 'INT32' }] },
        status: 202,
        response: databaseCreatedSchema,
        errors: ['DATABASE_ALREADY_EXISTS'],
        idempotencyKeys: deps.idempotencyKeys,
      },
      async (ctx, { body, respondWith }) => {
        const { org } = ctx.state.principal;
        const { database: name, database_metadata_schema: schema } = body;
        const { _id: database_id } = await respondWith({ database: name, status: 'provisioning' }, (tx) =>
          databases.create(org, name, schema, tx),
        );
        await startOrDefer(deps.log, 'provisioning', { database_id }, () =>
          deps.starters.startProvisioning({ org, database_id }, name),
        );
      },
    ),
  );

  router.get(
    '/',
    operation(
      { summary: 'List databases', query: pageQuerySchema, status: 200, response: databaseListSchema },
      async (ctx, { query: { limit, cursor }, respond }) => {
        const before = cursor === undefined ? undefined : openCursor(cursor, CURSOR);
        const found = await databases.listForOrg(ctx.state.principal.org, { before, limit: limit + 1 });
        const { shown, next_cursor } = pageOf(found, limit, ({ _id }) => _id);
        respond({ databases: shown.map(describeDatabase), count: shown.length, next_cursor });
      },
    ),
  );

  router.get(
    '/status',
    operation(
      {
        summary: 'How far a database is',
        query: z.object({ database: nameSchema }),
        status: 200,
        response: databaseStatusSchema,
        errors: NOT_FOUND,
      },
      async (ctx, { query, respond }) => {
        const database = await databases.requireAnyForOrg(ctx.state.principal.org, query.database);
        const [scheduler, vectorstore] = await Promise.all([deps.temporalReachable(), deps.index.exists(database._id)]);
        respond({
          database: database.name,
          status: database.status,
          infra: {
            scheduler_status: scheduler,
            graph_status: database.graph_ready,
            // Knowledge and memories are rows of one table, told apart by their type.
            vectorstore_status: { knowledge: vectorstore, memories: vectorstore },
            ready_for_ingestion: scheduler && database.graph_ready && vectorstore && database.status === 'ready',
          },
        });
      },
    ),
  );

  router.delete(
    `/:${parameter}`,
    operation(
      {
        summary: 'Delete a database with everything in it',
        description:
          'Its items cannot be reached any more from this answer on; its name is free once `GET …/status` gives 404. ' +
          'Deliveries that are recorded stay, and are still sent.',
        status: 202,
        response: databaseDeletingSchema,
        errors: NOT_FOUND,
      },
      async (ctx, { respond }) => {
        const {
          _id: database_id,
          org,
          name: database,
        } = await databases.requireAnyForOrg(ctx.state.principal.org, named(ctx));
        await databases.markDeleting(database_id);
        await startOrDefer(deps.log, 'deletion', { database_id }, () =>
          deps.starters.startDatabaseDeletion({ org, database_id }, database),
        );
        respond({ database, status: 'deleting' });
      },
    ),
  );

  router.get(
    `/:${parameter}/collections`,
    operation(
      { summary: 'The collections of a database', status: 200, response: collectionsSchema, errors: NOT_FOUND },
      async (ctx, { respond }) => {
        const database = await databases.requireForOrg(ctx.state.principal.org, named(ctx));
        const collections = await contents.collections(database._id);
        respond({ database: database.name, collections, count: collections.length });
      },
    ),
  );

  router.get(
    `/:${parameter}/stats`,
    operation(
      { summary: 'What a database holds', status: 200, response: databaseStatsSchema, errors: NOT_FOUND },
      async (ctx, { respond }) => {
        const database = await databases.requireForOrg(ctx.state.principal.org, named(ctx));
        respond({ database: database.name, ...(await contents.stats(database._id)) });
      },
    ),
  );

  router.patch(
    `/:${parameter}/metadata-schema`,
    plainOperation(
      {
        summary: 'Add fields to the schema of metadata',
        description:
          'A field that exists may be named again with the same type; its `max_length` may only grow. Items that are there ' +
          'are not checked again. Success comes without the envelope, and 400 and 409 carry `INTERNAL_ERROR`.',
        body: addMetadataFieldsSchema,
        example: { database_metadata_schema: [{ name: 'author', data_type: 'VARCHAR', max_length: 200 }] },
        status: 200,
        response: metadataSchemaSchema,
        type: 'application/json',
        errors: ['DATABASE_NOT_FOUND', 'METADATA_FIELD_CONFLICT'],
        shownAs: METADATA_SCHEMA_CODES,
      },
      async (ctx, { body, respond }) => {
        const database = await databases.addMetadataFields(
          ctx.state.principal.org,
          named(ctx),
          body.database_metadata_schema,
        );
        respond({ database: database.name, database_metadata_schema: database.metadata_schema });
      },
    ),
  );

  return router;
}
