import type { Binary } from 'mongodb';
import type { SealedPurpose, Sealer } from '../../domain/sealing.js';
import type { StaticHeaders } from '../../domain/webhooks/static-headers.js';
import { jsonSealingFor } from '../sealing.js';

export type HeaderSealing = ReturnType<typeof createHeaderSealing>;

/** Seals and opens the static headers of a receiver. @param purpose whose headers they are */
export function createHeaderSealing(sealer: Sealer, purpose: Extract<SealedPurpose, `${string}-headers`>) {
  const sealing = jsonSealingFor<StaticHeaders>(sealer, purpose);
  return {
    /** @param id of the record that the headers belong to. @returns null for no headers */
    seal(id: string, headers: StaticHeaders): StoredHeaders | null {
      const names = Object.keys(headers);
      return names.length === 0 ? null : { names, sealed: sealing.seal(id, headers) };
    },

    /** @returns no headers for a record without */
    open(id: string, headers: StoredHeaders | null | undefined): StaticHeaders {
      return headers ? sealing.open(id, headers.sealed) : {};
    },
  };
}

/** Static headers in a record. Their values are never shown. */
export interface StoredHeaders {
  names: string[];
  /** The headers as JSON, sealed. */
  sealed: Binary;
}
