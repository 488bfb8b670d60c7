import type { Binary } from 'mongodb';

export interface SigningKeyRecord {
  _id: string;
  /** PEM, PKCS#8. */
  sealed_private_key: Binary;
  /** PEM, SPKI. */
  public_key: string;
  /** True of exactly one. */
  current: boolean;
  created_at: Date;
  retired_at: Date | null;
}
