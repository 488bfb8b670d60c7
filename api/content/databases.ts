import Router from '@koa/router';
import type { Logger } from 'pino';
import { z } from 'zod';
import { addMetadataFieldsSchema, createDatabaseSchema, nameSchema } from '../../domain/databases.js';
import type { SearchIndex } from '../../domain/search.js';
import type { DatabaseContents } from '../../storage/database-contents.js';
import type { Databases } from '../../storage/databases.js';
import type { IdempotencyKeys } from '../../storage/idempotency-keys.js';
import type { Launcher } from '../../temporal/launcher.js';
import type { RequestContext, RequestState } from '../context.js';
import { operations } from '../operation.js';
import { openCursor, pageOf, pageQuerySchema } from './cursor.js';
import {
  collectionsSchema,
  databaseCreatedSchema,
  databaseDeletingSchema,
  databaseListSchema,
  databaseStatsSchema,
  databaseStatusSchema,
  describeDatabase,
  metadataSchemaSchema,
} from './database-answers.js';
import { contentOperations } from './document.js';
import { answerBare } from './envelope.js';
import { METADATA_SCHEMA_CODES, tenantsOperation } from './old-names.js';

export interface DatabaseDependencies {
  databases: Databases;
  contents: DatabaseContents;
  idempotencyKeys: IdempotencyKeys;
  index: SearchIndex;
  launcher: Launcher;
  log: Logger;
}

const CURSOR = /^tnt_[0-9a-z]{26}$/;
const NOT_FOUND = ['DATABASE_NOT_FOUND'] as const;

/** The routes as they are called today. */
export const databaseRoutes = (deps: DatabaseDependencies) =>
  routes(deps, {
    path: '/databases',
    name: 'database',
    operation: contentOperations('Databases'),
    bareOperation: operations('Databases', answerBare),
  });

/** The same under their deprecated names and with their old codes. */
export const tenantRoutes = (deps: DatabaseDependencies) =>
  routes(deps, {
    path: '/tenants',
    name: 'tenant_id',
    operation: tenantsOperation(),
    bareOperation: tenantsOperation(operations('Tenants', answerBare)),
  });

interface Naming {
  path: string;
  /** Of the parameter in the path. */
  name: string;
  operation: ReturnType<typeof contentOperations>;
  bareOperation: ReturnType<typeof contentOperations>;
}

function routes(deps: DatabaseDependencies, { path, name, operation, bareOperation }: Naming): Router<RequestState> {
  const { databases, contents } = deps;
  const router = new Router<RequestState>({ prefix: path });
  const named = (ctx: RequestContext & { params: Record<string, string> }) => ctx.params[name]!;

  router.post(
    '/',
    operation(
      {
        summary: 'Create a database',
        description: 'It may be ingested into once `infra.ready_for_ingestion` is true.',
        body: createDatabaseSchema,
        example: { database: 'library', database_metadata_schema: [{ name: 'year', data_type: 'INT32' }] },
        status: 202,
        answers: databaseCreatedSchema,
        errors: ['DATABASE_ALREADY_EXISTS'],
        idempotencyKeys: deps.idempotencyKeys,
      },
      async (ctx, { body, answer }) => {
        const { org } = ctx.state.principal;
        answer({ database: body.database, status: 'provisioning' });
        const database = await databases.create(
          org,
          body.database,
          body.database_metadata_schema,
          ctx.state.keepAnswer,
        );
        // The database is recorded: when Temporal is away at this moment, the sweep starts the workflow.
        await deps.launcher.startProvisioning({ org, tenant: database._id }, database.name).catch((error) => {
          deps.log.warn({ err: error, database: database._id }, 'provisioning not started; the sweep will start it');
        });
      },
    ),
  );

  router.get(
    '/',
    operation(
      { summary: 'List databases', query: pageQuerySchema, status: 200, answers: databaseListSchema },
      async (ctx, { query: { limit, cursor }, answer }) => {
        const before = cursor === undefined ? undefined : openCursor(cursor, CURSOR);
        const found = await databases.list(ctx.state.principal.org, { before, limit: limit + 1 });
        const { shown, next_cursor } = pageOf(found, limit, ({ _id }) => _id);
        answer({ databases: shown.map(describeDatabase), count: shown.length, next_cursor });
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
        answers: databaseStatusSchema,
        errors: NOT_FOUND,
      },
      async (ctx, { query, answer }) => {
        const database = await databases.find(ctx.state.principal.org, query.database);
        const [scheduler, vectorstore] = await Promise.all([
          deps.launcher.reachable(),
          deps.index.exists(database._id),
        ]);
        answer({
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
    `/:${name}`,
    operation(
      {
        summary: 'Delete a database with everything in it',
        description:
          'Its items cannot be reached any more from this answer on; its name is free once `GET …/status` gives 404. ' +
          'Deliveries that are recorded stay, and are still sent.',
        status: 202,
        answers: databaseDeletingSchema,
        errors: NOT_FOUND,
      },
      async (ctx, { answer }) => {
        const { _id: tenant, org, name: database } = await databases.find(ctx.state.principal.org, named(ctx));
        await databases.markDeleting(tenant);
        await deps.launcher.startDatabaseDeletion({ org, tenant }, database).catch((error) => {
          deps.log.warn({ err: error, database: tenant }, 'deletion not started; the sweep will start it');
        });
        answer({ database, status: 'deleting' });
      },
    ),
  );

  router.get(
    `/:${name}/collections`,
    operation(
      { summary: 'The collections of a database', status: 200, answers: collectionsSchema, errors: NOT_FOUND },
      async (ctx, { answer }) => {
        const database = await databases.get(ctx.state.principal.org, named(ctx));
        const collections = await contents.collections(database._id);
        answer({ database: database.name, collections, count: collections.length });
      },
    ),
  );

  router.get(
    `/:${name}/stats`,
    operation(
      { summary: 'What a database holds', status: 200, answers: databaseStatsSchema, errors: NOT_FOUND },
      async (ctx, { answer }) => {
        const database = await databases.get(ctx.state.principal.org, named(ctx));
        answer({ database: database.name, ...(await contents.stats(database._id)) });
      },
    ),
  );

  router.patch(
    `/:${name}/metadata-schema`,
    bareOperation(
      {
        summary: 'Add fields to the schema of metadata',
        description:
          'A field that exists may be named again with the same type; its `max_length` may only grow. Items that are there ' +
          'are not checked again. Success comes without the envelope, and 400 and 409 carry `INTERNAL_ERROR`.',
        body: addMetadataFieldsSchema,
        example: { database_metadata_schema: [{ name: 'author', data_type: 'VARCHAR', max_length: 200 }] },
        status: 200,
        answers: metadataSchemaSchema,
        type: 'application/json',
        errors: ['DATABASE_NOT_FOUND', 'METADATA_FIELD_CONFLICT'],
        shownAs: METADATA_SCHEMA_CODES,
      },
      async (ctx, { body, answer }) => {
        const database = await databases.addMetadataFields(
          ctx.state.principal.org,
          named(ctx),
          body.database_metadata_schema,
        );
        answer({ database: database.name, database_metadata_schema: database.metadata_schema });
      },
    ),
  );

  return router;
}
