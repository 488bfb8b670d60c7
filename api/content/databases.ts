import Router from '@koa/router';
import type { Logger } from 'pino';
import { z } from 'zod';
import { createDatabaseSchema, nameSchema } from '../../domain/databases.js';
import type { SearchIndex } from '../../domain/search.js';
import type { Databases } from '../../storage/databases.js';
import type { IdempotencyKeys } from '../../storage/idempotency-keys.js';
import type { Launcher } from '../../temporal/launcher.js';
import type { RequestState } from '../context.js';
import { databaseCreatedSchema, databaseStatusSchema } from './answers.js';
import { contentOperations } from './document.js';

const operation = contentOperations('Databases');

export function databaseRoutes(deps: {
  databases: Databases;
  idempotencyKeys: IdempotencyKeys;
  index: SearchIndex;
  launcher: Launcher;
  log: Logger;
}): Router<RequestState> {
  const router = new Router<RequestState>();

  router.post(
    '/databases',
    operation(
      {
        summary: 'Create a database',
        description: 'It may be ingested into once `infra.ready_for_ingestion` is true.',
        body: createDatabaseSchema,
        status: 202,
        answers: databaseCreatedSchema,
        errors: ['DATABASE_ALREADY_EXISTS'],
        idempotencyKeys: deps.idempotencyKeys,
      },
      async (ctx, { body, answer }) => {
        const { org } = ctx.state.principal;
        answer({ database: body.database, status: 'provisioning' });
        const database = await deps.databases.create(
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
    '/databases/status',
    operation(
      {
        summary: 'How far a database is',
        query: z.object({ database: nameSchema }),
        status: 200,
        answers: databaseStatusSchema,
        errors: ['DATABASE_NOT_FOUND'],
      },
      async (ctx, { query, answer }) => {
        const database = await deps.databases.get(ctx.state.principal.org, query.database);
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

  return router;
}
