import type { Middleware } from 'koa';
import { ServiceError } from '../../domain/errors.js';
import type { RequestState } from '../context.js';

/** The rest is for the organisation's own key: one of a user reads inputs and statuses, and resumes. */
export function organisationOnly(): Middleware<RequestState> {
  return (ctx, next) => {
    if (ctx.state.principal.kind === 'crew_org') return next();
    throw new ServiceError('FORBIDDEN', 'A key of kind crew_user may read inputs and statuses, and resume.');
  };
}
