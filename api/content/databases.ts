import Router from '@koa/router';
import { z } from 'zod';
import {
  addMetadataFieldsSchema,
  createDatabaseSchema,
  type MetadataField,
  nameSchema,
  type OwnedDatabase,
} from '../../domain/content/databases.js';
import { tableOf } from '../../domain/content/index-generations.js';
import { startOrDefer } from '../../temporal/workflow-starter.js';
import { contentOperations, plainOperations } from '../content-operations.js';
import type { Dependencies } from '../dependencies.js';
import type { Deprecation } from '../operation.js';
import { byId, pageQuery, readPage } from '../pagination.js';
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

/** Ids of databases have the prefix of their deprecated name. */
const NEWEST_FIRST = byId('tnt');
/** Items whose rows are rewritten at once after a field was declared; the reconciler starts the others. */
const BACKFILL_STARTS = 20;
const NOT_FOUND = ['DATABASE_NOT_FOUND'] as const;

/** The codes of 400 and 409 on one route, whose clients distinguish errors by the status (specification, "Errors"). */
const METADATA_SCHEMA_CODES = {
  INVALID_PARAMETERS: 'INTERNAL_ERROR',
  METADATA_FIELD_CONFLICT: 'INTERNAL_ERROR',
} as const;

/** The names and codes of `/tenants` that differ from `/databases` (specification, "Versioning" and "Errors"). */
const TENANTS = {
  deprecated: {
    since: '@1767225600', // 2026-01-01
    successor: (path: string) => path.replace('/tenants', '/databases'),
    fields: { database: 'tenant_id', collection: 'sub_tenant_id', collections: 'sub_tenants', databases: 'tenants' },
  },
  errorCodeAliases: { DATABASE_NOT_FOUND: 'NOT_FOUND', DATABASE_ALREADY_EXISTS: 'INVALID_INPUT' },
} as const satisfies { deprecated: Deprecation; errorCodeAliases: object };

export const databaseRoutes = (deps: Dependencies) => routes(deps, 'Databases', 'database');

/** The same routes with their deprecated names and codes. */
export const tenantRoutes = (deps: Dependencies) => routes(deps, 'Tenants', 'tenant_id', TENANTS);

/** @param parameter the parameter of a path that has the name of the database */
function routes(
  deps: Dependencies,
  tag: 'Databases' | 'Tenants',
  parameter: string,
  common?: typeof TENANTS,
): Router<RequestState> {
  const { databases, contents } = deps;
  const operation = contentOperations(tag, common);
  const plainOperation = plainOperations(tag, common);
  const router = new Router<RequestState>({ prefix: `/${tag.toLowerCase()}` });
  const nameIn = (ctx: RequestContext & { params: Record<string, string> }) => ctx.params[parameter]!;

  router.post(
    '/',
    operation(
      {
        summary: 'Create a database',
        description: 'The database is ready for ingestion when `infra.ready_for_ingestion` of its status is true.',
        body: createDatabaseSchema,
        example: { database: 'library', database_metadata_schema: [{ name: 'year', data_type: 'INT32' }] },
        status: 202,
        response: databaseCreatedSchema,
        errors: ['DATABASE_ALREADY_EXISTS', 'METADATA_FIELD_CONFLICT'],
        idempotencyKeys: deps.idempotencyKeys,
        audit: { actions: ['database.created'], about: (_, { database }) => ({ subject: { name: database } }) },
      },
      async (ctx, { body, respondWith }) => {
        const { org } = ctx.state.principal;
        const { database: name, database_metadata_schema: schema } = body;
        // Clients that create what is missing must find it also when the quota is used up.
        await databases.rejectTaken(org, name);
        const { _id: database_id } = await respondWith({ database: name, status: 'provisioning' }, (tx) =>
          deps.quotas.admit(org, { databases: 1 }, (session) => databases.create(org, name, schema, session), tx),
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
      { summary: 'List databases', query: pageQuery(NEWEST_FIRST), response: databaseListSchema },
      async (ctx, { query, respond }) => {
        const { org } = ctx.state.principal;
        const { records, next_cursor } = await readPage(query, NEWEST_FIRST, (page) => databases.listForOrg(org, page));
        respond({ databases: records.map(describeDatabase), count: records.length, next_cursor });
      },
    ),
  );

  router.get(
    '/status',
    operation(
      {
        summary: 'Get database status',
        query: z.object({ database: nameSchema }),
        response: databaseStatusSchema,
        errors: NOT_FOUND,
      },
      async (ctx, { query, respond }) => {
        const database = await databases.requireAnyForOrg(ctx.state.principal.org, query.database);
        const [scheduler, vectorstore] = await Promise.all([
          deps.temporalReachable(),
          deps.index.exists(tableOf(database._id, database.index)),
        ]);
        respond({
          database: database.name,
          status: database.status,
          infra: {
            scheduler_status: scheduler,
            graph_status: database.graph_ready,
            // One table has the rows of both.
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
        summary: 'Delete a database and its contents',
        description:
          'Its items are unavailable at once, and are deleted in the background. The name can be used again when ' +
          '`GET …/status` returns 404. Recorded deliveries are kept and still sent.',
        status: 202,
        response: databaseDeletingSchema,
        errors: NOT_FOUND,
        audit: { actions: ['database.deleted'], about: (ctx) => ({ subject: { name: nameIn(ctx) } }) },
      },
      async (ctx, { respond }) => {
        const { org } = ctx.state.principal;
        const { _id: database_id, name: database } = await databases.requireAnyForOrg(org, nameIn(ctx));
        await databases.markDeleting({ _id: database_id, org });
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
      { summary: 'List collections', response: collectionsSchema, errors: NOT_FOUND },
      async (ctx, { respond }) => {
        const database = await databases.requireForOrg(ctx.state.principal.org, nameIn(ctx));
        const collections = await contents.collections(database);
        respond({ database: database.name, collections, count: collections.length });
      },
    ),
  );

  router.get(
    `/:${parameter}/stats`,
    operation(
      { summary: 'Get database statistics', response: databaseStatsSchema, errors: NOT_FOUND },
      async (ctx, { respond }) => {
        const database = await databases.requireForOrg(ctx.state.principal.org, nameIn(ctx));
        respond({ database: database.name, ...(await contents.stats(database)) });
      },
    ),
  );

  router.patch(
    `/:${parameter}/metadata-schema`,
    plainOperation(
      {
        summary: 'Add fields to the metadata schema',
        description:
          'An existing field may be sent again with the same type and a larger `max_length`. Existing items are not ' +
          'validated again; filters find the values that they already have within about a minute. The successful response has no envelope, and 400 and 409 have the code `INTERNAL_ERROR`.',
        body: addMetadataFieldsSchema,
        example: { database_metadata_schema: [{ name: 'author', data_type: 'VARCHAR', max_length: 200 }] },
        response: metadataSchemaSchema,
        errors: ['DATABASE_NOT_FOUND', 'METADATA_FIELD_CONFLICT'],
        errorCodeAliases: METADATA_SCHEMA_CODES,
      },
      async (ctx, { body, respond }) => {
        const { org } = ctx.state.principal;
        const database = await databases.addMetadataFields(org, nameIn(ctx), body.database_metadata_schema);
        await backfill(database, body.database_metadata_schema);
        respond({ database: database.name, database_metadata_schema: database.metadata_schema });
      },
    ),
  );

  return router;

  /** A request that fails here can be repeated: its fields are then declared already, and filled again. */
  async function backfill(database: OwnedDatabase, fields: readonly MetadataField[]): Promise<void> {
    const names = fields.map(({ name }) => name);
    for (const item of await deps.itemCatalogue.markFieldsDeclared(database, names, BACKFILL_STARTS)) {
      await startOrDefer(deps.log, 'rewrite of index rows', { item: item._id }, () =>
        deps.starters.startIndexRows(item),
      );
    }
  }
}
