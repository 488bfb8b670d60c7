import type { WebhookUrls } from '../../domain/crews.js';
import { ServiceError } from '../../domain/errors.js';
import type { OutboundClient } from '../../domain/outbound.js';
import { refuseBlocked } from '../refuse-blocked.js';

/** @throws ServiceError that names the first URL that Postback would not send to */
export async function refuseBlockedUrls(outbound: OutboundClient, urls: WebhookUrls): Promise<void> {
  for (const [kind, url] of Object.entries(urls) as [keyof WebhookUrls, string | null][]) {
    if (url !== null) await refuseBlocked(outbound, `${kind}WebhookUrl`, url);
  }
}

export function notFound(what: string): ServiceError {
  return new ServiceError('NOT_FOUND', `There is no ${what}.`);
}
