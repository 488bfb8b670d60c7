import type { ParameterizedContext } from 'koa';
import type { Principal } from '../domain/api-keys.js';

/** What a request carries along on its way through the middleware. */
export interface RequestState {
  request_id: string;
  /** `performance.now()` at arrival. */
  started: number;
  /** Set by authentication; routes behind it may rely on it. */
  principal: Principal;
}

export type RequestContext = ParameterizedContext<RequestState>;
