/** What clients filter lists of deliveries, and bulk retries, by. */
import { z } from 'zod';
import { DELIVERY_STATES } from './states.js';

const time = z.iso.datetime({ offset: true }).transform((text) => new Date(text));

/** Filters that all deliveries have. */
export const deliveryFilters = {
  status: z.enum(DELIVERY_STATES).optional(),
  doc_id: z.string().min(1).optional().meta({ description: 'The id of the item, job or execution.' }),
  error_code: z.string().min(1).optional().meta({ description: 'Why the last attempt failed, such as `HTTP_503`.' }),
  from: time.optional().meta({ description: 'Created at this time or later.' }),
  to: time.optional().meta({ description: 'Created before this time.' }),
};

/** Filters of indexing webhooks. */
export const indexingDeliveryFilters = {
  ...deliveryFilters,
  database: z.string().min(1).optional(),
  collection: z.string().min(1).optional(),
  item_error_code: z.string().min(1).optional().meta({ description: 'Why the item failed, such as `E2001`.' }),
};

/** An absent field matches every delivery. */
export type DeliveryFilter = z.output<z.ZodObject<typeof indexingDeliveryFilters>>;
