import type { Binary } from 'mongodb';

export interface IdempotencyRecord {
  /** Organisation, route and SHA-256 of the key. */
  _id: string;
  /** SHA-256 of the request, hex. */
  fingerprint: string;
  /** Names the claim, so that one that was lost is known as such. */
  token: string;
  lease_until: Date;
  /** Null while the request is carried out. */
  answer: { status: number; headers: Record<string, string>; sealed_body: Binary } | null;
  /** When the record is removed. */
  expires_at: Date;
}
