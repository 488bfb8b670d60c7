import type Router from '@koa/router';
import type { Middleware } from 'koa';
import compose from 'koa-compose';
import type { Logger } from 'pino';
import type { ServiceError } from '../domain/errors.js';
import type { RequestContext, RequestState } from './context.js';
import { errorAnswers } from './errors.js';

/** One of the services that share this server, with its own keys and its own shape of errors. */
export interface Service {
  /** What its paths begin with, in whole segments; the longest match among the services wins. */
  paths: readonly string[];
  answerError(ctx: RequestContext, error: ServiceError): void;
  middleware: Middleware<RequestState>[];
}

/** The routes as middleware; the router's own type asks for a context that only the router itself makes. */
export function routesOf(router: Router<RequestState>): Middleware<RequestState> {
  return router.routes() as unknown as Middleware<RequestState>;
}

/** Hands each request to the service whose paths it is under. One of them must have the path `/`. */
export function serve(services: readonly Service[], log: Logger): Middleware<RequestState> {
  const entries = services
    .flatMap(({ paths, answerError, middleware }) => {
      const handler = compose([errorAnswers(log, answerError), ...middleware]);
      return paths.map((path) => ({ prefix: path.replace(/\/$/, ''), handler }));
    })
    .sort((a, b) => b.prefix.length - a.prefix.length);
  return (ctx, next) => {
    const { handler } = entries.find(({ prefix }) => ctx.path === prefix || ctx.path.startsWith(`${prefix}/`))!;
    return handler(ctx, next);
  };
}
