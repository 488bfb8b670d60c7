import { timingSafeEqual } from 'node:crypto';
import Router from '@koa/router';
import type { Middleware } from 'koa';
import { z } from 'zod';
import { createKeySchema, keyLabelSchema } from '../domain/api-keys.js';
import { ServiceError } from '../domain/errors.js';
import { sha256Hex } from '../domain/ids.js';
import type { Dependencies } from './dependencies.js';
import { contentEnvelope, contentErrors } from './envelope.js';
import { jsonBody } from './json-body.js';
import { createdKeySchema, describeKey, STORE_IT } from './key-responses.js';
import { readExpiry } from './keys.js';
import { operations } from './operation.js';
import { type ListOrder, listSchema, pageQuery, readPage } from './pagination.js';
import type { RequestState } from './request-context.js';
import { routesOf, type Service, TOKEN_ERRORS } from './service.js';

const TAG = 'Operator';
const operation = operations(TAG, contentEnvelope);

const BY_NAME: ListOrder<{ _id: string }> = { position: ({ _id }) => _id, pattern: /^.+$/ };

const createOrganisationSchema = z.object({
  organisation: z
    .string()
    .regex(/^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/, 'must have 1 to 64 characters of A-Z, a-z, 0-9, ., _ and -')
    .meta({ description: 'Its name, which cannot be changed.' }),
  label: keyLabelSchema.default('first key').meta({ description: 'Of its first key.' }),
  expires_at: createKeySchema.shape.expires_at,
});

const organisationSchema = z
  .object({
    organisation: z.string(),
    created_at: z.iso.datetime(),
    active_keys: z.int(),
  })
  .meta({ id: 'Organisation' });

const organisationCreatedSchema = z.object({
  organisation: z.string(),
  key: createdKeySchema.meta({ description: 'Its first key: of kind `api`, with all scopes.' }),
});

/** `/operator`: what operators do over HTTP, with `POSTBACK_OPERATOR_TOKEN`. */
export function operatorService(deps: Dependencies): Service {
  return {
    paths: ['/operator'],
    errors: contentErrors,
    middleware: [requireOperator(deps.operatorToken), jsonBody(), routesOf(organisationRoutes(deps))],
    document: {
      tags: [{ name: TAG, description: 'For operators. Without `POSTBACK_OPERATOR_TOKEN` every request gets 404.' }],
      security: {
        name: 'operator_token',
        scheme: { type: 'http', scheme: 'bearer', description: 'The value of `POSTBACK_OPERATOR_TOKEN`.' },
        unscoped: true,
      },
      errors: TOKEN_ERRORS,
    },
  };
}

/** @throws ServiceError NOT_FOUND without a token in the settings, UNAUTHORIZED for another token */
function requireOperator(token: string | null): Middleware<RequestState> {
  return async (ctx, next) => {
    if (token === null) throw new ServiceError('NOT_FOUND', `There is no route ${ctx.method} ${ctx.path}.`);
    const sent = /^Bearer ([\x21-\x7e]{1,1024})$/i.exec(ctx.get('Authorization'))?.[1] ?? '';
    // Hashes have equal lengths, and comparing them takes the same time for every token.
    if (!timingSafeEqual(Buffer.from(sha256Hex(sent)), Buffer.from(sha256Hex(token)))) {
      ctx.set('WWW-Authenticate', 'Bearer');
      throw new ServiceError('UNAUTHORIZED', 'The token of the operator is missing or wrong.');
    }
    await next();
  };
}

function organisationRoutes({ organisationDirectory, keys, now }: Dependencies): Router<RequestState> {
  const router = new Router<RequestState>({ prefix: '/operator/organisations' });

  router.post(
    '/',
    operation(
      {
        summary: 'Create an organisation',
        description:
          'With its first key, which only this response shows. With that key the organisation manages its keys.',
        body: createOrganisationSchema,
        example: { organisation: 'acme', label: 'administrator' },
        status: 201,
        response: organisationCreatedSchema,
        errors: ['ORGANISATION_ALREADY_EXISTS'],
        audit: {
          actions: ['organisation.created'],
          about: (_, { organisation }) => ({
            subject: { name: organisation },
            by: { org: organisation, actor: { type: 'operator' } },
          }),
          learn: ({ key }) => ({ id: key.id }),
        },
      },
      async (_, { body: { organisation: org, label, expires_at }, respond }) => {
        const first = { org, kind: 'api' as const, label, expires_at: readExpiry(expires_at, now()) };
        const { key, record } = await organisationDirectory.create(org, (tx) => keys.create(first, tx));
        respond({ organisation: org, key: { ...describeKey(record, now()), key, message: STORE_IT } });
      },
    ),
  );

  router.get(
    '/',
    operation(
      {
        summary: 'List organisations',
        description: 'Every organisation that has a key, also those that were created on the command line.',
        query: pageQuery(BY_NAME),
        response: listSchema('organisations', organisationSchema, 'By name.'),
      },
      async (_, { query, respond }) => {
        const { records, next_cursor } = await readPage(query, BY_NAME, (page) => organisationDirectory.list(page));
        const organisations = records.map(({ _id, created_at, active_keys }) => ({
          organisation: _id,
          created_at: created_at.toISOString(),
          active_keys,
        }));
        respond({ organisations, count: organisations.length, next_cursor });
      },
    ),
  );

  return router;
}
