import Router from '@koa/router';
import type { Logger } from 'pino';
import { z } from 'zod';
import { createDatabaseSchema, nameSchema } from '../../domain/databases.js';
import type { SearchIndex } from '../../domain/search.js';
import type { Databases } from '../../storage/databases.js';
import type { IdempotencyKeys } from '../../storage/idempotency-keys.js';
import type { Launcher } from '../../temporal/launcher.js';
import type { RequestState } from '../context.js';
import { idempotent } from '../idempotency.js';
import { read } from '../validation.js';
import { answer } from './envelope.js';

const statusQuerySchema = z.object({ database: nameSchema });

export function databaseRoutes(deps: {
  databases: Databases;
  idempotencyKeys: IdempotencyKeys;
  index: SearchIndex;
  launcher: Launcher;
  log: Logger;
}): Router<RequestState> {
  const router = new Router<RequestState>();

  router.post('/databases', idempotent(deps.idempotencyKeys), async (ctx) => {
    const request = read(createDatabaseSchema, ctx.request.body ?? {});
    const { org } = ctx.state.principal;
    answer(ctx, 202, { database: request.database, status: 'provisioning' });
    const database = await deps.databases.create(
      org,
      request.database,
      request.database_metadata_schema,
      ctx.state.keepAnswer,
    );
    // The database is recorded: when Temporal is away at this moment, the sweep starts the workflow.
    await deps.launcher.startProvisioning({ org, tenant: database._id }, database.name).catch((error) => {
      deps.log.warn({ err: error, database: database._id }, 'provisioning not started; the sweep will start it');
    });
  });

  router.get('/databases/status', async (ctx) => {
    const { database: name } = read(statusQuerySchema, ctx.query);
    const database = await deps.databases.get(ctx.state.principal.org, name);
    const [scheduler, vectorstore] = await Promise.all([deps.launcher.reachable(), deps.index.exists(database._id)]);
    answer(ctx, 200, {
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
  });

  return router;
}
