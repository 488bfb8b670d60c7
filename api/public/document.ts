import Router from '@koa/router';
import type { RequestState } from '../context.js';
import type { Service } from '../service.js';
import { openApiDocument } from './openapi.js';

/** `/openapi.json`. It is made when it is first asked for: the services know each other by then. */
export function documentRoutes(services: () => readonly Service[]): Router<RequestState> {
  const router = new Router<RequestState>();
  let document: string | undefined;
  router.get('/openapi.json', (ctx) => {
    document ??= JSON.stringify(openApiDocument(services()));
    ctx.type = 'application/json';
    ctx.body = document;
  });
  return router;
}
