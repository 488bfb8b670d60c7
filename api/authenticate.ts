import type { Middleware } from 'koa';
import type { KeyKind, Principal } from '../domain/api-keys.js';
import { ServiceError } from '../domain/errors.js';
import type { ApiKeys } from '../storage/api-keys.js';
import type { RequestContext, RequestState } from './request-context.js';

/** Headers that may have a key: `Authorization: Bearer <key>`, or `api-key: <key>`. */
const KEY_IN = { Authorization: /^Bearer ([\w-]{20,200})$/i, 'api-key': /^([\w-]{20,200})$/ };

/** @returns null for a key that is missing, unknown, expired or revoked */
export async function findPrincipal(
  ctx: RequestContext,
  keys: Pick<ApiKeys, 'authenticate'>,
  header: keyof typeof KEY_IN,
): Promise<Principal | null> {
  const key = KEY_IN[header].exec(ctx.get(header))?.[1];
  return key === undefined ? null : keys.authenticate(key);
}

/**
 * Requires a key of one of these kinds.
 * @param header that has the key
 * @throws ServiceError UNAUTHORIZED, or FORBIDDEN for a valid key of another kind
 */
export function authenticate(
  keys: Pick<ApiKeys, 'authenticate'>,
  kinds: readonly KeyKind[],
  header: keyof typeof KEY_IN = 'Authorization',
): Middleware<RequestState> {
  const isBearer = header === 'Authorization';
  return async (ctx, next) => {
    const principal = await findPrincipal(ctx, keys, header);
    if (!principal) {
      if (isBearer) ctx.set('WWW-Authenticate', 'Bearer');
      const name = isBearer ? 'API key' : header;
      throw new ServiceError('UNAUTHORIZED', `The ${name} is missing, unknown, expired or revoked.`);
    }
    if (!kinds.includes(principal.kind)) {
      throw new ServiceError(
        'FORBIDDEN',
        `A key of kind ${principal.kind} is not allowed here. This needs a key of kind ${kinds.join(' or ')}.`,
      );
    }
    ctx.state.principal = principal;
    await next();
  };
}

/** Requires the header `API-Version: 2`. @throws ServiceError INVALID_PARAMETERS */
export function requireApiVersion(): Middleware<RequestState> {
  return async (ctx, next) => {
    if (ctx.get('API-Version') !== '2') {
      throw new ServiceError('INVALID_PARAMETERS', 'The header "API-Version: 2" is required.');
    }
    await next();
  };
}
