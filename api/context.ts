import type { ParameterizedContext } from 'koa';
import type { ClientSession } from 'mongodb';
import type { Principal } from '../domain/api-keys.js';

/** What a request carries along on its way through the middleware. */
export interface RequestState {
  request_id: string;
  /** `performance.now()` at arrival. */
  started: number;
  /** Set by authentication; routes behind it may rely on it. */
  principal: Principal;
  /**
   * Keeps the answer as it stands now for repeats of this request, in the transaction that does its work. Set while a
   * request with an `Idempotency-Key` is carried out.
   */
  keepAnswer?: (session?: ClientSession) => Promise<void>;
}

export type RequestContext = ParameterizedContext<RequestState>;
