import { Binary } from 'mongodb';
import type { SealedContext, SealedPurpose, Sealer } from '../domain/sealing.js';

/**
 * Seals and opens values of records as MongoDB stores them.
 * @param purpose keeps a sealed value from being used for another purpose; the id of its record, from being moved to another
 */
export function sealingFor(sealer: Sealer, purpose: SealedPurpose) {
  const context = (id: string): SealedContext => `${purpose}/${id}`;
  return {
    seal: (id: string, secret: string): Binary => new Binary(sealer.seal(secret, context(id))),
    /** @throws Error when the value was sealed with an unknown key or for another record, or was altered */
    open: (id: string, sealed: Pick<Binary, 'value'>): string => sealer.open(sealed.value(), context(id)),
  };
}

/** The same for values that are stored as JSON. */
export function jsonSealingFor<Value>(sealer: Sealer, purpose: SealedPurpose) {
  const { seal, open } = sealingFor(sealer, purpose);
  return {
    seal: (id: string, value: Value): Binary => seal(id, JSON.stringify(value)),
    open: (id: string, sealed: Pick<Binary, 'value'>): Value => JSON.parse(open(id, sealed)),
  };
}
