import { STATUS_CODES } from 'node:http';
import { createRequire } from 'node:module';
import { z } from 'zod';
import {
  createDocument,
  type oas31,
  type ZodOpenApiObject,
  type ZodOpenApiOperationObject,
  type ZodOpenApiPathsObject,
  type ZodOpenApiResponsesObject,
} from 'zod-openapi';
import { ERROR_STATUS, type ErrorCode } from '../domain/errors.js';
import type { Envelope } from './envelope.js';
import { idempotencyKeySchema } from './idempotency.js';
import { type Deprecation, type Described, deeplyRenamed, type FieldNames, type Operation } from './operation.js';
import { listRoutes, type Service, type ServiceDocument } from './service.js';

const { version } = createRequire(import.meta.url)('../../package.json') as { version: string };

const INFO = {
  title: 'Postback',
  version,
  license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
  description:
    'Work that finishes later and is announced by a signed HTTP callback. Every answer carries `X-Request-Id`, the ' +
    "client's own if it sent one of at most 128 letters, digits and `._:/+=@-`. New fields and error codes may be added: ignore " +
    'those you do not know.',
};

const RETRY_AFTER: readonly ErrorCode[] = [
  'RATE_LIMITED',
  'SERVICE_UNAVAILABLE',
  'IDEMPOTENCY_IN_PROGRESS',
  'SOURCE_PROCESSING',
];

const retryAfter = z.object({
  'Retry-After': z.int().meta({ description: 'Seconds until it makes sense to try again.' }),
});

const idempotencyKey = z.object({ 'Idempotency-Key': idempotencyKeySchema.optional() });

/** The routes of the services as an OpenAPI 3.1 document, generated from the schemas of requests and responses. */
export function openApiDocument(services: readonly Service[]): oas31.OpenAPIObject {
  const paths: ZodOpenApiPathsObject = {};
  const tags: oas31.TagObject[] = [];
  const securitySchemes: Record<string, oas31.SecuritySchemeObject> = {};
  const webhooks: ZodOpenApiObject['webhooks'] = {};
  for (const service of services) {
    const { document } = service;
    if (!document) continue;
    tags.push(...document.tags);
    Object.assign(webhooks, document.webhooks);
    const { security } = document;
    if (security) securitySchemes[security.name] = security.scheme;
    for (const { method, path: pattern, operation, envelope, tag } of listRoutes(service)) {
      if (!operation || !envelope || !tag) continue;
      const path = pattern.replace(/:(\w+)/g, '{$1}');
      paths[path] = {
        ...paths[path],
        [method]: describe({ ...service, document }, { method, path, tag, operation, envelope }),
      };
    }
  }
  return createDocument(
    { openapi: '3.1.0', info: INFO, tags, paths, webhooks, components: { securitySchemes } },
    {
      override: ({ jsonSchema, io }) => {
        // An answer may gain fields, and the format says what the pattern of a time says more readably.
        if (io === 'output' && jsonSchema.additionalProperties === false) delete jsonSchema.additionalProperties;
        if (jsonSchema.format === 'date-time') delete jsonSchema.pattern;
        // JavaScript's own limits say nothing about the interface.
        if (jsonSchema.minimum === Number.MIN_SAFE_INTEGER) delete jsonSchema.minimum;
        if (jsonSchema.maximum === Number.MAX_SAFE_INTEGER) delete jsonSchema.maximum;
      },
    },
  );
}

function describe(
  service: Service & { document: ServiceDocument },
  { method, path, tag, operation, envelope }: Described & { method: string; path: string },
): ZodOpenApiOperationObject {
  const { document } = service;
  const { summary, description, form, idempotencyKeys, deprecated } = operation;
  const named = <Schema extends z.ZodType>(schema: Schema) =>
    (deprecated ? withFieldNames(schema, deprecated.fields) : schema) as Schema;
  const query = operation.query && named(operation.query);
  const body = operation.body && named(operation.body);
  const example = deprecated ? deeplyRenamed(operation.example, deprecated.fields) : operation.example;
  const names = [...path.matchAll(/\{(\w+)\}/g)].map((match) => match[1]!);
  const headers = z.object({
    ...document.headers?.shape,
    ...operation.headers?.shape,
    ...(idempotencyKeys ? idempotencyKey.shape : {}),
  });
  const content = form
    ? { 'multipart/form-data': { schema: form } }
    : body && { 'application/json': { schema: body, ...(example === undefined ? {} : { example }) } };
  const required = form !== undefined || body?.safeParse({}).success === false;
  return {
    operationId: method + path.replace(/[^A-Za-z0-9]+(\w?)/g, (_match, letter: string) => letter.toUpperCase()),
    tags: [tag],
    summary,
    ...(description || deprecated
      ? { description: [deprecationNote(deprecated, path), description].join(' ').trim() }
      : {}),
    ...(deprecated ? { deprecated: true } : {}),
    security: document.security ? [{ [document.security.name]: [] }] : [],
    requestParams: {
      header: headers,
      ...(names.length > 0 ? { path: z.object(Object.fromEntries(names.map((name) => [name, z.string()]))) } : {}),
      ...(query ? { query: query as z.ZodObject } : {}),
    },
    ...(content ? { requestBody: { required, content } } : {}),
    responses: { ...successes(envelope, operation), ...errorResponses(service, method, operation) },
  };
}

function successes(
  envelope: Envelope,
  { status, alsoStatus, response, type, deprecated }: Operation,
): ZodOpenApiResponsesObject {
  const data = deprecated ? withFieldNames(response, deprecated.fields) : response;
  const content = type ? { [type]: { schema: data } } : { 'application/json': { schema: envelope.schema(data) } };
  const statuses = [status, ...(alsoStatus === undefined ? [] : [alsoStatus])];
  return Object.fromEntries(statuses.map((code) => [code, { description: STATUS_CODES[code] ?? '', content }]));
}

/** One entry a status, which names the codes that come with it. */
function errorResponses(
  service: Service & { document: ServiceDocument },
  method: string,
  operation: Operation,
): ZodOpenApiResponsesObject {
  const { query, body, form, idempotencyKeys, errors = [], shownAs = {} } = operation;
  const { document } = service;
  const codes = new Set<ErrorCode>([...document.errors, ...errors]);
  if (query || body || form) codes.add('INVALID_PARAMETERS').add('VALIDATION_ERROR');
  if (document.invalidInputIs400) codes.delete('VALIDATION_ERROR');
  if (method !== 'get' && document.errors.length > 0) codes.add('PAYLOAD_TOO_LARGE');
  if (idempotencyKeys) {
    codes.add('INVALID_PARAMETERS').add('IDEMPOTENCY_CONFLICT').add('IDEMPOTENCY_IN_PROGRESS');
  }
  const statuses = [...new Set([...codes].map((code) => ERROR_STATUS[code]))].sort();
  return Object.fromEntries(
    statuses.map((status) => {
      const those = [
        ...new Set([...codes].filter((code) => ERROR_STATUS[code] === status).map((code) => shownAs[code] ?? code)),
      ];
      return [
        status,
        {
          description: `${STATUS_CODES[status]}: ${those.map((code) => `\`${code}\``).join(', ')}`,
          ...(those.some((code) => RETRY_AFTER.includes(code)) ? { headers: retryAfter } : {}),
          content: { 'application/json': { schema: service.errors.schema(z.enum(those)) } },
        },
      ];
    }),
  );
}

function deprecationNote(deprecated: Deprecation | undefined, path: string): string {
  return deprecated ? `Deprecated: use \`${deprecated.successor(path)}\`.` : '';
}

/** A schema whose objects have their fields under other names, for the document only. */
function withFieldNames(schema: z.ZodType, names: FieldNames): z.ZodType {
  if (schema instanceof z.ZodArray) return z.array(withFieldNames(schema.element as z.ZodType, names));
  if (!(schema instanceof z.ZodObject)) return schema;
  const fields = Object.entries(schema.shape as Record<string, z.ZodType>);
  return z.object(
    Object.fromEntries(fields.map(([name, field]) => [names[name] ?? name, withFieldNames(field, names)])),
  );
}
