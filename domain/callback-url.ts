import { z } from 'zod';

/**
 * The URL of a receiver that a client names. The schema checks its size; `rejectBlockedUrl` checks the rest, which needs
 * the name to be resolved.
 */
export const callbackUrlSchema = z
  .string()
  .max(2048)
  .meta({ format: 'uri', description: 'An https URL that is reachable from the public internet.' });
