import type Router from '@koa/router';
import type { Middleware } from 'koa';
import compose from 'koa-compose';
import type { Logger } from 'pino';
import type { z } from 'zod';
import type { oas31, ZodOpenApiObject } from 'zod-openapi';
import { type ErrorCode, ServiceError } from '../domain/errors.js';
import type { ErrorShape } from './envelope.js';
import { handleErrors } from './errors.js';
import { type DeclaredOperation, type Deprecation, declaredOperation } from './operation.js';
import type { RequestState } from './request-context.js';

/** One of the services that share this server, with its own keys and its own shape of errors. */
export interface Service {
  /** Path prefixes in whole segments; the longest match among the services wins. */
  paths: readonly string[];
  /** Whole paths, which win over every prefix. */
  pages?: readonly string[];
  errors: ErrorShape;
  middleware: Middleware<RequestState>[];
  /** A service without it does not appear in `/openapi.json`. */
  document?: ServiceDocument;
}

/** What the routes of a service have in common in `/openapi.json`. */
export interface ServiceDocument {
  /** Headings of its operations, with descriptions in Markdown. */
  tags: readonly { name: string; description: string }[];
  /** How a request carries its key; absent where no key is needed. `unscoped`: a token that has no scopes. */
  security?: { name: string; scheme: oas31.SecuritySchemeObject; unscoped?: true };
  /** Headers of every request. */
  headers?: z.ZodObject;
  /** Errors of every route; by default `KEYED_ERRORS`. */
  errors?: readonly ErrorCode[];
  /** Webhooks that the service sends, by event. */
  webhooks?: ZodOpenApiObject['webhooks'];
}

/** `Authorization: Bearer <key>` with a key of kind `api`. */
export const API_KEY: ServiceDocument['security'] = {
  name: 'api_key',
  scheme: { type: 'http', scheme: 'bearer', description: 'A key of kind `api`, from `postback keys create`.' },
};

/** As `API_KEY`, where a key for crews is allowed too. */
export const ORGANISATION_KEY: ServiceDocument['security'] = {
  name: 'organisation_key',
  scheme: { type: 'http', scheme: 'bearer', description: 'A key of kind `api` or `crew_org`.' },
};

const COMMON_ERRORS = ['RATE_LIMITED', 'INTERNAL_ERROR', 'SERVICE_UNAVAILABLE'] as const;

/** Errors of every route that needs a key. */
export const KEYED_ERRORS: readonly ErrorCode[] = ['INVALID_PARAMETERS', 'UNAUTHORIZED', 'FORBIDDEN', ...COMMON_ERRORS];

/** Errors of every route that needs the token of a review link or of the operator. */
export const TOKEN_ERRORS: readonly ErrorCode[] = ['INVALID_PARAMETERS', 'UNAUTHORIZED', 'NOT_FOUND', ...COMMON_ERRORS];

/** The routes as middleware; the router's own type requires a context that only the router creates. */
export function routesOf(router: Router<RequestState>): Middleware<RequestState> {
  return router.routes() as unknown as Middleware<RequestState>;
}

/** Routes each request to the service with the longest matching path. One service must have the path `/`. */
export function serve(services: readonly Service[], log: Logger): Middleware<RequestState> {
  const pages = new Map<string, Middleware<RequestState>>();
  const entries = services
    .flatMap((service) => {
      const handler = compose([
        handleErrors(log, service.errors),
        findRoute(service),
        limitQuery,
        ...service.middleware,
      ]);
      for (const page of service.pages ?? []) pages.set(page, handler);
      return service.paths.map((path) => ({ prefix: path.replace(/\/$/, ''), handler }));
    })
    .sort((a, b) => b.prefix.length - a.prefix.length);
  return (ctx, next) => {
    // A target that is not a path, as in `OPTIONS *`, goes to the service with the path `/`, which is the last.
    const underPrefix = entries.find(({ prefix }) => isUnder(ctx.path, prefix)) ?? entries.at(-1)!;
    const handler = pages.get(ctx.path) ?? underPrefix.handler;
    return handler(ctx, next);
  };
}

/**
 * Applies the error codes and the deprecation of a route to every response, whichever middleware sends it. Below a
 * deprecated prefix, responses of paths without a route are deprecated too. Rejects a request without a route before its key and
 * its body are read. OPTIONS requests pass: they may be CORS preflights.
 * @throws ServiceError NOT_FOUND for an unknown path, METHOD_NOT_ALLOWED for another method of a known path
 */
function findRoute(service: Service): Middleware<RequestState> {
  const routers = routersOf(service);
  return async (ctx, next) => {
    const matches = routers.map((router) => router.match(ctx.path, ctx.method));
    const layers = matches.flatMap(({ pathAndMethod }) => pathAndMethod);
    const operation = declarationOf(layers.flatMap(({ stack }) => stack))?.operation;
    ctx.state.errorCodeAliases = operation?.errorCodeAliases;
    const deprecated = operation?.deprecated ?? deprecationUnder(routers, ctx.path);
    if (deprecated) {
      ctx.set('Deprecation', deprecated.since);
      ctx.set('Link', `<${deprecated.successor(ctx.path)}>; rel="successor-version"`);
    }
    if (ctx.method !== 'OPTIONS' && !matches.some(({ route }) => route)) {
      const allowed = [...new Set(matches.flatMap(({ path }) => path.flatMap(({ methods }) => methods)))];
      if (allowed.length === 0) throw new ServiceError('NOT_FOUND', `There is no route ${ctx.method} ${ctx.path}.`);
      ctx.set('Allow', allowed.join(', '));
      throw new ServiceError('METHOD_NOT_ALLOWED', `${ctx.path} accepts ${allowed.join(', ')} only.`);
    }
    await next();
  };
}

/** Room for a thousand ids. Koa reads a query in time that grows with the square of its parameters. */
const MAX_QUERY_PARAMETERS = 1_100;

/** @throws ServiceError INVALID_PARAMETERS for too many parameters, before they are read */
const limitQuery: Middleware<RequestState> = async (ctx, next) => {
  if (ctx.querystring.split('&', MAX_QUERY_PARAMETERS + 1).length > MAX_QUERY_PARAMETERS) {
    throw new ServiceError('INVALID_PARAMETERS', `A query must not exceed ${MAX_QUERY_PARAMETERS} parameters.`);
  }
  await next();
};

function deprecationUnder(routers: readonly Router<RequestState>[], path: string): Deprecation | undefined {
  const router = routers.find(({ opts: { prefix } }) => prefix && isUnder(path, prefix));
  return declarationOf(router?.stack.flatMap(({ stack }) => stack) ?? [])?.operation.deprecated;
}

/** HEAD and OPTIONS follow from these. */
const METHODS = ['get', 'post', 'put', 'patch', 'delete'] as const;

export interface Route {
  method: (typeof METHODS)[number];
  /** With parameters such as `:id`. */
  path: string;
  /** Undefined for a route that was not declared by an operation. */
  declared: DeclaredOperation | undefined;
}

/** Every route of a service. */
export function listRoutes(service: Service): Route[] {
  const routes = new Map<string, Route>();
  for (const { path, methods, stack } of routersOf(service).flatMap((router) => router.stack)) {
    for (const method of METHODS.filter((name) => methods.includes(name.toUpperCase()))) {
      const id = `${method} ${path}`;
      // A path may be registered several times, once with the declaration.
      routes.set(id, { method, path: String(path), declared: declarationOf(stack) ?? routes.get(id)?.declared });
    }
  }
  return [...routes.values()];
}

function routersOf(service: Service): Router<RequestState>[] {
  return service.middleware.flatMap((part) => ('router' in part ? [part.router as Router<RequestState>] : []));
}

function declarationOf(stack: readonly unknown[]): DeclaredOperation | undefined {
  return stack.map(declaredOperation).find((found) => found !== undefined);
}

function isUnder(path: string, prefix: string): boolean {
  return path === prefix || path.startsWith(`${prefix}/`);
}
