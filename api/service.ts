import type Router from '@koa/router';
import type { Middleware } from 'koa';
import compose from 'koa-compose';
import type { Logger } from 'pino';
import type { z } from 'zod';
import type { oas31, ZodOpenApiObject } from 'zod-openapi';
import type { ErrorCode, ServiceError } from '../domain/errors.js';
import type { RequestContext, RequestState } from './context.js';
import { errorAnswers } from './errors.js';
import { type Described, operationOf } from './operation.js';

/** One of the services that share this server, with its own keys and its own shape of errors. */
export interface Service {
  /** What its paths begin with, in whole segments; the longest match among the services wins. */
  paths: readonly string[];
  answerError(ctx: RequestContext, error: ServiceError): void;
  middleware: Middleware<RequestState>[];
  /** Without it the service is left out of `/openapi.json`. */
  document?: ServiceDocument;
}

/** What holds for all routes of a service, for `/openapi.json`. */
export interface ServiceDocument {
  /** Headings its operations stand under, and what is said there. */
  tags: readonly { name: string; description: string }[];
  /** How a request shows its key; absent where none is needed. */
  security?: { name: string; scheme: oas31.SecuritySchemeObject };
  /** Headers of every request. */
  headers?: z.ZodObject;
  /** The shape of an answer with this data, and of a refusal with one of these codes. */
  success(data: z.ZodType): z.ZodType;
  failure(code: z.ZodType<ErrorCode>): z.ZodType;
  /** What breaks a rule is a bad request here like any other: 400, not 422. */
  oneBadRequest?: true;
  /** What any of its routes may refuse. */
  errors: readonly ErrorCode[];
  /** What the service sends, by event. */
  webhooks?: ZodOpenApiObject['webhooks'];
}

/** How services show their keys that take them as `Authorization: Bearer <key>`. */
export const API_KEY: ServiceDocument['security'] = {
  name: 'api_key',
  scheme: { type: 'http', scheme: 'bearer', description: 'A key of kind `api`, from `postback keys create`.' },
};

/** The routes as middleware; the router's own type asks for a context that only the router itself makes. */
export function routesOf(router: Router<RequestState>): Middleware<RequestState> {
  return router.routes() as unknown as Middleware<RequestState>;
}

/** Every route of a service, with what it says about itself. */
export function listRoutes(service: Service) {
  const routers = service.middleware.flatMap((one) => ('router' in one ? [one.router as Router<RequestState>] : []));
  const routes = new Map<string, { method: Method; path: string } & Partial<Described>>();
  for (const { path, methods, stack } of routers.flatMap((router) => router.stack)) {
    const described = stack.map(operationOf).find((found) => found !== undefined);
    for (const method of METHODS.filter((one) => methods.includes(one.toUpperCase()))) {
      const id = `${method} ${path}`;
      // A path may have several layers; one of them answers.
      routes.set(id, { ...routes.get(id), method, path: String(path), ...described });
    }
  }
  return [...routes.values()];
}

/** The others are answered by themselves. */
const METHODS = ['get', 'post', 'put', 'patch', 'delete'] as const;
type Method = (typeof METHODS)[number];

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
