import type { KeyKind } from '../../domain/api-keys.js';

export interface ApiKeyRecord {
  _id: string;
  org: string;
  kind: KeyKind;
  label: string;
  /** SHA-256 of the key, hex. The key itself is never stored. */
  hash: string;
  /** First characters of the key, for people who compare lists. */
  hint: string;
  created_at: Date;
  expires_at: Date | null;
  revoked_at: Date | null;
}
