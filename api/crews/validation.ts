import type { Middleware } from 'koa';
import type { WebhookUrls } from '../../domain/crews/crews.js';
import { ServiceError } from '../../domain/errors.js';
import type { OutboundClient } from '../../domain/outbound.js';
import type { RequestState } from '../request-context.js';
import { rejectBlockedUrl } from '../validation.js';

/** The rest is for the organisation's own key: one of a user reads inputs and statuses, and resumes. */
export function organisationOnly(): Middleware<RequestState> {
  return (ctx, next) => {
    if (ctx.state.principal.kind === 'crew_org') return next();
    throw new ServiceError('FORBIDDEN', 'A key of kind crew_user may read inputs and statuses, and resume.');
  };
}

/** @throws ServiceError that names the first URL that Postback would not send to */
export async function rejectBlockedUrls(outbound: OutboundClient, urls: WebhookUrls): Promise<void> {
  for (const [kind, url] of Object.entries(urls) as [keyof WebhookUrls, string | null][]) {
    if (url !== null) await rejectBlockedUrl(outbound, `${kind}WebhookUrl`, url);
  }
}

export function notFound(what: string): ServiceError {
  return new ServiceError('NOT_FOUND', `There is no ${what}.`);
}
