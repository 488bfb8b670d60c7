import type Router from '@koa/router';
import { z } from 'zod';
import { contentOperations } from '../content-operations.js';
import type { RequestState } from '../request-context.js';
import { type DeliveryDependencies, deliveryFilters, deliveryRoutes } from './delivery-routes.js';

/** Filters of indexing webhooks, for lists and bulk retries. */
export const indexingDeliveryFilters = {
  ...deliveryFilters,
  database: z.string().min(1).optional(),
  collection: z.string().min(1).optional(),
  item_error_code: z.string().min(1).optional().meta({ description: 'Why the item failed, such as `E2001`.' }),
};

/** Webhook deliveries of items, their attempts, and manual retries. */
export function indexingDeliveryRoutes(deps: DeliveryDependencies): Router<RequestState> {
  return deliveryRoutes(deps, {
    prefix: '/webhooks/indexing/deliveries',
    operation: contentOperations('Deliveries'),
    noun: { one: 'delivery', many: 'deliveries' },
    filters: indexingDeliveryFilters,
    scopeOf: ({ state }) => ({ org: state.principal.org, events: ['indexing.status_changed'] }),
  });
}
