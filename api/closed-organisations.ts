import type { Closure, Principal } from '../domain/api-keys.js';
import { ServiceError } from '../domain/errors.js';

/** Clients that were rejected during a move try again after this time. */
const RETRY_AFTER_SECONDS = 30;

/** @throws ServiceError ORGANISATION_MOVED when the organisation is in another cell */
export function requireHere({ closed }: Pick<Principal, 'closed'>): void {
  if (closed?.state === 'moved') throw moved(closed);
}

/** For a request that changes something. @throws ServiceError ORGANISATION_MOVING or ORGANISATION_MOVED */
export function requireOpen(closed: Closure | undefined): void {
  if (closed?.state === 'moved') throw moved(closed);
  if (closed?.state === 'moving') {
    throw new ServiceError(
      'ORGANISATION_MOVING',
      'The organisation moves to another server. Until it is there, it can be read only.',
      { retryAfterSeconds: RETRY_AFTER_SECONDS },
    );
  }
}

function moved({ address }: Closure): ServiceError {
  const where = address === undefined ? 'another server' : address;
  return new ServiceError('ORGANISATION_MOVED', `The organisation has moved to ${where}.`);
}
