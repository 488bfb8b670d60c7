import { Binary } from 'mongodb';
import type { SealedContext, SealedPurpose, Sealer } from '../../domain/sealing.js';
import type { StaticHeaders } from '../../domain/webhooks/static-headers.js';

export type HeaderSealing = ReturnType<typeof createHeaderSealing>;

/** Seals and opens the static headers of a receiver. @param purpose whose headers they are */
export function createHeaderSealing(sealer: Sealer, purpose: Extract<SealedPurpose, `${string}-headers`>) {
  const context = (id: string): SealedContext => `${purpose}/${id}`;
  return {
    /** @param id of the record that the headers belong to. @returns null for no headers */
    seal(id: string, headers: StaticHeaders): StoredHeaders | null {
      const names = Object.keys(headers);
      if (names.length === 0) return null;
      return { names, sealed: new Binary(sealer.seal(JSON.stringify(headers), context(id))) };
    },

    /** @returns no headers for a record without */
    open(id: string, headers: StoredHeaders | null | undefined): StaticHeaders {
      return headers ? (JSON.parse(sealer.open(headers.sealed.value(), context(id))) as StaticHeaders) : {};
    },
  };
}

/** Static headers in a record. Their values are never shown. */
export interface StoredHeaders {
  names: string[];
  /** The headers as JSON, sealed. */
  sealed: Binary;
}
