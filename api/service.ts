import type Router from '@koa/router';
import type { Middleware } from 'koa';
import compose from 'koa-compose';
import type { Logger } from 'pino';
import type { z } from 'zod';
import type { oas31, ZodOpenApiObject } from 'zod-openapi';
import type { ErrorCode } from '../domain/errors.js';
import type { ErrorShape } from './envelope.js';
import { handleErrors } from './errors.js';
import { type Deprecation, type Described, type Operation, operationOf, sendDeprecation } from './operation.js';
import type { RequestState } from './request-context.js';

/** One of the services that share this server, with its own keys and its own shape of errors. */
export interface Service {
  /** Path prefixes in whole segments; the longest match among the services wins. */
  paths: readonly string[];
  errors: ErrorShape;
  middleware: Middleware<RequestState>[];
  /** Without a document the service is left out of `/openapi.json`. */
  document?: ServiceDocument;
}

/** What holds for all routes of a service, for `/openapi.json`. */
export interface ServiceDocument {
  /** Headings of its operations, and what is said there. */
  tags: readonly { name: string; description: string }[];
  /** How a request carries its key; absent where no key is needed. */
  security?: { name: string; scheme: oas31.SecuritySchemeObject };
  /** Headers of every request. */
  headers?: z.ZodObject;
  /** Invalid input is 400 here, not 422. */
  invalidInputIs400?: true;
  /** Errors of every route. */
  errors: readonly ErrorCode[];
  /** What the service sends, by event. */
  webhooks?: ZodOpenApiObject['webhooks'];
}

/** How services take a key as `Authorization: Bearer <key>`. */
export const API_KEY: ServiceDocument['security'] = {
  name: 'api_key',
  scheme: { type: 'http', scheme: 'bearer', description: 'A key of kind `api`, from `postback keys create`.' },
};

/** The routes as middleware; the router's own type asks for a context that only the router itself makes. */
export function routesOf(router: Router<RequestState>): Middleware<RequestState> {
  return router.routes() as unknown as Middleware<RequestState>;
}

/** Every route of a service, with its description. */
export function listRoutes(service: Service) {
  const routes = new Map<string, { method: Method; path: string } & Partial<Described>>();
  for (const { path, methods, stack } of routersOf(service).flatMap((router) => router.stack)) {
    const described = stack.map(operationOf).find((found) => found !== undefined);
    for (const method of METHODS.filter((name) => methods.includes(name.toUpperCase()))) {
      const id = `${method} ${path}`;
      // A path may have several layers; one of them has the description.
      routes.set(id, { ...routes.get(id), method, path: String(path), ...described });
    }
  }
  return [...routes.values()];
}

function routersOf(service: Service): Router<RequestState>[] {
  return service.middleware.flatMap((part) => ('router' in part ? [part.router as Router<RequestState>] : []));
}

/** HEAD and OPTIONS follow from the others. */
const METHODS = ['get', 'post', 'put', 'patch', 'delete'] as const;
type Method = (typeof METHODS)[number];

/** Hands each request to the service whose paths it is under. One of them must have the path `/`. */
export function serve(services: readonly Service[], log: Logger): Middleware<RequestState> {
  const entries = services
    .flatMap((service) => {
      const handler = compose([handleErrors(log, service.errors), byOperation(service), ...service.middleware]);
      return service.paths.map((path) => ({ prefix: path.replace(/\/$/, ''), handler }));
    })
    .sort((a, b) => b.prefix.length - a.prefix.length);
  return (ctx, next) => {
    const { handler } = entries.find(({ prefix }) => ctx.path === prefix || ctx.path.startsWith(`${prefix}/`))!;
    return handler(ctx, next);
  };
}

/** Applies an operation's deprecation and error codes to every response under its path, whichever middleware sends it. */
function byOperation(service: Service): Middleware<RequestState> {
  const routers = routersOf(service);
  return (ctx, next) => {
    const operation = operationAt(routers, ctx.path, ctx.method);
    if (operation) ctx.state.shownAs = operation.shownAs ?? {};
    sendDeprecation(ctx, operation?.deprecated ?? deprecationUnder(routers, ctx.path));
    return next();
  };
}

/** @returns undefined when no route of the service matches */
function operationAt(routers: readonly Router<RequestState>[], path: string, method: string): Operation | undefined {
  for (const router of routers) {
    for (const { stack } of router.match(path, method).pathAndMethod) {
      const described = stack.map(operationOf).find((found) => found !== undefined);
      if (described) return described.operation;
    }
  }
  return undefined;
}

/** The deprecation of the routes under whose prefix the path is, where no route matches it. */
function deprecationUnder(routers: readonly Router<RequestState>[], path: string): Deprecation | undefined {
  const router = routers.find(({ opts: { prefix } }) => prefix && (path === prefix || path.startsWith(`${prefix}/`)));
  const operations = router?.stack.flatMap(({ stack }) => stack.map(operationOf)) ?? [];
  return operations.find((described) => described !== undefined)?.operation.deprecated;
}
