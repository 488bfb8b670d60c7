import Router from '@koa/router';
import { z } from 'zod';
import { createKeySchema, DEFAULT_KEY_LIFETIME_MS, KEY_KINDS, type Principal, type Scope } from '../domain/api-keys.js';
import { ServiceError } from '../domain/errors.js';
import { KEY_STATES } from '../domain/key-states.js';
import type { Dependencies } from './dependencies.js';
import { contentEnvelope } from './envelope.js';
import { createdKeySchema, describeKey, keySchema, revokedKeySchema, STORE_IT } from './key-responses.js';
import { operations } from './operation.js';
import { byId, listSchema, pageQuery, readPage } from './pagination.js';
import type { RequestState } from './request-context.js';

const operation = operations('Keys', contentEnvelope);

const NEWEST_FIRST = byId('key');

const listQuerySchema = pageQuery(NEWEST_FIRST).extend({
  kind: z.enum(KEY_KINDS).optional(),
  state: z.enum(KEY_STATES).optional(),
  crew: z.string().max(64).optional().meta({ description: 'Only keys that this crew takes.' }),
});

/** `/keys`: the keys of the organisation, for its administrators. */
export function keyRoutes({ keys, now }: Dependencies): Router<RequestState> {
  const router = new Router<RequestState>({ prefix: '/keys' });

  router.post(
    '/',
    operation(
      {
        summary: 'Create a key',
        description:
          'A key of any kind, for the organisation of the key that asks, and with no scope that this one does not have. Only ' +
          'this response has the key itself: its hash is stored.',
        scope: 'admin',
        body: createKeySchema,
        example: { kind: 'api', label: 'search page', scopes: ['read'], expires_at: '2099-01-31T00:00:00Z' },
        status: 201,
        response: createdKeySchema,
        audit: {
          actions: ['key.created'],
          about: (_, { label }) => ({ subject: { name: label } }),
          learn: ({ id }) => ({ id }),
        },
      },
      async (ctx, { body, respond }) => {
        const { principal } = ctx.state;
        requireScopesOf(principal, body.scopes);
        const { key, record } = await keys.create({
          ...body,
          org: principal.org,
          expires_at: readExpiry(body.expires_at, now()),
          created_by: principal.key_id,
        });
        respond({
          ...describeKey(record, now(), principal),
          key,
          message: STORE_IT,
        });
      },
    ),
  );

  router.get(
    '/',
    operation(
      {
        summary: 'List keys',
        description: 'Without the keys themselves. Expired and revoked keys stay in the list.',
        scope: 'admin',
        query: listQuerySchema,
        response: listSchema('keys', keySchema, 'Newest first.'),
      },
      async (ctx, { query, respond }) => {
        const { principal } = ctx.state;
        const { records, next_cursor } = await readPage(query, NEWEST_FIRST, (page) =>
          keys.listForOrg(principal.org, query, page),
        );
        const listed = records.map((record) => describeKey(record, now(), principal));
        respond({ keys: listed, count: listed.length, next_cursor });
      },
    ),
  );

  router.get(
    '/:key_id',
    operation(
      { summary: 'Get a key', scope: 'admin', response: keySchema, errors: ['KEY_NOT_FOUND'] },
      async (ctx, { respond }) => {
        const { principal } = ctx.state;
        const id = ctx.params.key_id!;
        const record = await keys.findForOrg(principal.org, id);
        if (!record) throw notFound(id);
        respond(describeKey(record, now(), principal));
      },
    ),
  );

  router.delete(
    '/:key_id',
    operation(
      {
        summary: 'Revoke a key',
        description:
          'Requests with it get 401 from now on, and its event streams end within half a minute. A key may revoke itself, ' +
          'but not the last active key of kind `api` with the scope `admin`. A revoked key stays as it is.',
        scope: 'admin',
        response: revokedKeySchema,
        errors: ['KEY_NOT_FOUND', 'LAST_ADMIN_KEY'],
        audit: {
          actions: ['key.revoked'],
          about: ({ params }) => ({ subject: { id: params.key_id } }),
          learn: ({ label }) => ({ name: label }),
        },
      },
      async (ctx, { respond }) => {
        const { principal } = ctx.state;
        const id = ctx.params.key_id!;
        const record = await keys.revokeForOrg(principal.org, id);
        if (!record) throw notFound(id);
        const key = describeKey(record, now(), principal);
        const message = key.current
          ? 'The key of this request is revoked: this was its last response.'
          : 'The key is revoked: requests with it get 401.';
        respond({ ...key, message });
      },
    ),
  );

  return router;
}

function notFound(id: string): ServiceError {
  return new ServiceError('KEY_NOT_FOUND', `There is no key "${id}".`);
}

/** @throws ServiceError FORBIDDEN for a scope that the key does not have itself */
function requireScopesOf({ scopes }: Principal, asked: readonly Scope[]): void {
  const missing = asked.filter((scope) => !scopes.includes(scope));
  if (missing.length === 0) return;
  throw new ServiceError(
    'FORBIDDEN',
    `A key gives no scopes that it does not have itself: this one has ${scopes.join(', ')}, not ${missing.join(', ')}.`,
  );
}

/** @throws ServiceError VALIDATION_ERROR for a time that has passed */
export function readExpiry(given: string | null | undefined, now: Date): Date | null {
  if (given === null) return null;
  if (given === undefined) return new Date(now.getTime() + DEFAULT_KEY_LIFETIME_MS);
  const expiry = new Date(given);
  if (expiry > now && expiry.getUTCFullYear() <= 9999) return expiry;
  throw new ServiceError('VALIDATION_ERROR', 'expires_at: must be in the future, and before the year 10000');
}
