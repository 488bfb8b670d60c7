import { ServiceError } from '../domain/errors.js';
import { BlockedAddressError, type OutboundClient } from '../domain/outbound.js';

/**
 * An address that a client wants to be spoken to.
 * @param field names it in the message
 * @throws ServiceError VALIDATION_ERROR for one that Postback never speaks to, as far as can be known now
 */
export async function refuseBlocked(outbound: OutboundClient, field: string, url: string): Promise<void> {
  try {
    await outbound.check(url);
  } catch (error) {
    if (error instanceof BlockedAddressError) throw new ServiceError('VALIDATION_ERROR', `${field}: ${error.message}`);
    throw error;
  }
}
