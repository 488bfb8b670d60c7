import { STATUS_CODES } from 'node:http';
import { createRequire } from 'node:module';
import { z } from 'zod';
import {
  createDocument,
  type oas31,
  type ZodOpenApiOperationObject,
  type ZodOpenApiPathsObject,
  type ZodOpenApiResponsesObject,
} from 'zod-openapi';
import { ERROR_STATUS, type ErrorCode } from '../domain/errors.js';
import { allowNewFields, CALLBACKS_TAG } from './callback-document.js';
import { addCodeSamples } from './code-samples.js';
import { stateConditions } from './document-conditions.js';
import type { Envelope } from './envelope.js';
import { renameAllFields, renameSchemaFields } from './field-names.js';
import { idempotencyKeySchema } from './idempotency.js';
import { allowNullFields } from './nullable-fields.js';
import { examplePathValue, named, operationIdOf } from './openapi-names.js';
import { type Operation, scopeOf } from './operation.js';
import { KEYED_ERRORS, listRoutes, type Route, type Service, type ServiceDocument } from './service.js';

const { version } = createRequire(import.meta.url)('../../package.json') as { version: string };

const INFO = {
  title: 'Postback',
  version,
  license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
  description:
    'Postback runs work in the background and reports its completion by a signed HTTP callback. Every response carries ' +
    "`X-Request-Id`: the client's own, if the request had one of at most 128 letters, digits and `._:/+=@-`. New fields " +
    'and error codes may be added: ignore those that you do not know.',
};

const RETRY_AFTER: readonly ErrorCode[] = [
  'RATE_LIMITED',
  'SERVICE_UNAVAILABLE',
  'IDEMPOTENCY_IN_PROGRESS',
  'SOURCE_PROCESSING',
];

const retryAfter = z.object({
  'Retry-After': z.int().meta({ description: 'Seconds to wait before the request is repeated.' }),
});

const idempotencyKey = z.object({ 'Idempotency-Key': idempotencyKeySchema.optional() });

type DocumentedService = Service & { document: ServiceDocument };

/** The routes of the services as an OpenAPI 3.1 document, generated from their declarations. */
export function openApiDocument(services: readonly Service[]): oas31.OpenAPIObject {
  const documented = services.filter((service): service is DocumentedService => service.document !== undefined);
  const documents = documented.map(({ document }) => document);
  const document = createDocument(
    {
      openapi: '3.1.0',
      info: INFO,
      tags: [...documents.flatMap(({ tags }) => tags), CALLBACKS_TAG],
      paths: describePaths(documented),
      webhooks: Object.assign({}, ...documents.map(({ webhooks }) => webhooks)),
      components: {
        securitySchemes: Object.fromEntries(
          documents.flatMap(({ security }) => (security ? [[security.name, security.scheme]] : [])),
        ),
      },
    },
    {
      override: ({ jsonSchema, io, zodSchema }) => {
        // What the schema does not name is rejected, unless it says otherwise.
        if (io === 'input' && zodSchema._zod.def.type === 'object') jsonSchema.additionalProperties ??= false;
        // A response may gain fields.
        if (io === 'output' && jsonSchema.additionalProperties === false) delete jsonSchema.additionalProperties;
        // The format says the same as the pattern, and is easier to read.
        if (['date-time', 'email', 'uuid'].includes(jsonSchema.format ?? '')) delete jsonSchema.pattern;
        // The limits of JavaScript's integers are not limits of responses.
        if (io === 'output' && jsonSchema.minimum === Number.MIN_SAFE_INTEGER) delete jsonSchema.minimum;
        if (io === 'output' && jsonSchema.maximum === Number.MAX_SAFE_INTEGER) delete jsonSchema.maximum;
        // Generators of clients fail on defaults that are not plain values, lengths of files, null as the only type, and constants.
        if (typeof jsonSchema.default === 'object') delete jsonSchema.default;
        if (jsonSchema.format === 'binary') delete jsonSchema.minLength;
        if (zodSchema._zod.def.type === 'null') {
          delete jsonSchema.type;
          jsonSchema.const = null;
        } else if (jsonSchema.const !== undefined) {
          jsonSchema.enum = [jsonSchema.const];
          delete jsonSchema.const;
        }
      },
    },
  );
  allowNullFields(document);
  stateConditions(document);
  allowNewFields(document);
  return addCodeSamples(document);
}

function describePaths(services: readonly DocumentedService[]): ZodOpenApiPathsObject {
  const paths: ZodOpenApiPathsObject = {};
  for (const service of services) {
    for (const route of listRoutes(service)) {
      const path = route.path.replace(/:(\w+)/g, '{$1}');
      const operation = describeRoute(service, { ...route, path });
      if (operation) paths[path] = { ...paths[path], [route.method]: operation };
    }
  }
  return paths;
}

/** @returns undefined for a route without a declaration */
function describeRoute(
  service: DocumentedService,
  { method, path, declared }: Route,
): ZodOpenApiOperationObject | undefined {
  if (!declared) return undefined;
  const { tag, envelope } = declared;
  const operation = withDeprecatedNames(declared.operation);
  const { summary, description, deprecated, query } = operation;
  const { security, headers } = service.document;
  const parameters = [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => {
    return [name!, z.string().meta({ example: examplePathValue(path, name!) })];
  });
  const operationId = operationIdOf(summary, deprecated !== undefined);
  const scope = security && !security.unscoped ? scopeOf(operation, method) : undefined;
  const text = [
    deprecated && `Deprecated: use \`${deprecated.successor(path)}\`.`,
    description,
    scope && `Scope: \`${scope}\`.`,
    operation.audit && `Audit: ${operation.audit.actions.map((action) => `\`${action}\``).join(', ')}.`,
  ].filter((part) => part !== undefined);
  return {
    operationId,
    tags: [tag],
    summary,
    description: text.length === 0 ? undefined : text.join(' '),
    ...(deprecated && { deprecated: true }),
    // For keys, the list holds the scopes that a request needs (OpenAPI 3.1, "Security Requirement Object").
    security: security ? [{ [security.name]: scope === undefined ? [] : [scope] }] : [],
    requestParams: {
      header: z.object({
        ...headers?.shape,
        ...operation.headers?.shape,
        ...(operation.idempotencyKeys ? idempotencyKey.shape : {}),
      }),
      ...(parameters.length > 0 && { path: z.object(Object.fromEntries(parameters)) }),
      ...(query && { query: query as z.ZodObject }),
    },
    requestBody: describeBody(operation, operationId),
    responses: { ...describeSuccess(operation, envelope, operationId), ...describeErrors(service, method, operation) },
  };
}

/** The operation with the field names that clients of a deprecated route use. */
function withDeprecatedNames(operation: Operation): Operation {
  if (!operation.deprecated) return operation;
  const { fields } = operation.deprecated;
  const { query, body, response, example } = operation;
  return {
    ...operation,
    query: query && renameSchemaFields(query, fields),
    body: body && renameSchemaFields(body, fields),
    response: renameSchemaFields(response, fields),
    example: renameAllFields(example, fields),
  };
}

function describeBody(
  { body, form, example }: Operation,
  operationId: string,
): ZodOpenApiOperationObject['requestBody'] {
  if (!form && !body) return undefined;
  return {
    required: form !== undefined || !body!.safeParse({}).success || body!.meta()?.required !== undefined,
    content: {
      ...(form && { 'multipart/form-data': { schema: form, ...encodingOf(form) } }),
      ...(body && {
        'application/json': {
          schema: named(body, `${operationId}Request`),
          example,
        },
      }),
    },
  };
}

/** Lists of a form that are not files are one field each, with JSON text. */
function encodingOf(form: z.ZodObject): { encoding?: Record<string, { contentType: string }> } {
  const lists = Object.entries(form.shape).filter(([, field]) =>
    isListOf(field, (element) => !(element instanceof z.ZodFile)),
  );
  if (lists.length === 0) return {};
  return { encoding: Object.fromEntries(lists.map(([name]) => [name, { contentType: 'application/json' }])) };
}

function isListOf(field: z.core.SomeType, matches: (element: z.core.SomeType) => boolean): boolean {
  const schema = field instanceof z.ZodOptional ? field.unwrap() : field;
  return schema instanceof z.ZodArray && matches(schema.element);
}

function describeSuccess(
  { status = 200, alternativeStatus, emptyStatus, response, type }: Operation,
  envelope: Envelope,
  operationId: string,
): ZodOpenApiResponsesObject {
  const content = type
    ? { [type]: { schema: response } }
    : { 'application/json': { schema: named(envelope.schema(response), `${operationId}Response`) } };
  const statuses = [status, ...(alternativeStatus === undefined ? [] : [alternativeStatus])];
  const described = statuses.map((code) => [code, { description: STATUS_CODES[code] ?? '', content }] as const);
  return {
    ...Object.fromEntries(described),
    ...(emptyStatus === undefined ? {} : { [emptyStatus]: { description: STATUS_CODES[emptyStatus] ?? '' } }),
  };
}

/** One response per status, with the codes that have this status. */
function describeErrors(service: DocumentedService, method: string, operation: Operation): ZodOpenApiResponsesObject {
  const codes = errorCodes(service, method, operation);
  const statuses = [...new Set(codes.map((code) => ERROR_STATUS[code]))].sort();
  return Object.fromEntries(
    statuses.map((status) => {
      const shown = codes
        .filter((code) => ERROR_STATUS[code] === status)
        .map((code) => operation.errorCodeAliases?.[code] ?? code);
      const unique = [...new Set(shown)];
      return [
        status,
        {
          description: `${STATUS_CODES[status]}: ${unique.map((code) => `\`${code}\``).join(', ')}`,
          ...retryAfterHeader(unique),
          content: { 'application/json': { schema: service.errors.schema(z.enum(unique)) } },
        },
      ];
    }),
  );
}

/** The header is optional where only some of the errors have it. */
function retryAfterHeader(codes: readonly ErrorCode[]) {
  const having = codes.filter((code) => RETRY_AFTER.includes(code)).length;
  if (having === 0) return {};
  return { headers: having === codes.length ? retryAfter : retryAfter.partial() };
}

/** The declared errors, and those that follow from the inputs of the route. */
function errorCodes({ document, errors: shape }: DocumentedService, method: string, operation: Operation): ErrorCode[] {
  const { query, body, form, idempotencyKeys, errors = [] } = operation;
  const { errors: common = KEYED_ERRORS } = document;
  const codes = new Set<ErrorCode>([...common, ...errors]);
  if (query) codes.add('INVALID_PARAMETERS');
  if (body || form) codes.add('INVALID_PARAMETERS').add('VALIDATION_ERROR');
  if (shape.invalidInputIs400) codes.delete('VALIDATION_ERROR');
  if (method !== 'get' && common.length > 0) codes.add('PAYLOAD_TOO_LARGE');
  if (idempotencyKeys) codes.add('INVALID_PARAMETERS').add('IDEMPOTENCY_CONFLICT').add('IDEMPOTENCY_IN_PROGRESS');
  return [...codes];
}
