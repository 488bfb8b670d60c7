import type { Middleware } from 'koa';
import type { KeyKind } from '../domain/api-keys.js';
import { ServiceError } from '../domain/errors.js';
import type { ApiKeys } from '../storage/api-keys.js';
import type { RequestState } from './request-context.js';

/**
 * Requires `Authorization: Bearer <key>` with a key of one of these kinds.
 * @throws ServiceError UNAUTHORIZED, or FORBIDDEN for a valid key of another kind
 */
export function authenticate(keys: Pick<ApiKeys, 'authenticate'>, kinds: readonly KeyKind[]): Middleware<RequestState> {
  return async (ctx, next) => {
    const key = /^Bearer ([\w-]{20,200})$/i.exec(ctx.get('Authorization'))?.[1];
    const principal = key === undefined ? null : await keys.authenticate(key);
    if (!principal) {
      ctx.set('WWW-Authenticate', 'Bearer');
      throw new ServiceError('UNAUTHORIZED', 'The API key is missing, unknown, expired or revoked.');
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
