import type { Binary } from 'mongodb';
import type { SdkNextAction, StoredAuthenticationStatus } from '../../domain/payments.js';

export interface AuthenticationRecord {
  _id: string;
  org: string;
  status: StoredAuthenticationStatus;
  /** In the currency's minor unit. */
  amount: number;
  currency: string;
  /** SHA-256 of the client secret, hex. The secret itself is never stored. */
  client_secret_hash: string;
  /** JSON of customer, return URL and metadata. */
  sealed_details: Binary;
  /** The first eligibility check, which decides. */
  check: { fingerprint: string; sdk_next_action: SdkNextAction; checked_at: Date } | null;
  created_at: Date;
  expires_at: Date;
  closed_at: Date | null;
  /** When MongoDB removes it. */
  remove_at: Date;
}

/** What the customer's browser sent to an eligibility check, in a record of its own because it goes earlier. */
export interface EligibilityDataRecord {
  /** The authentication's id. */
  _id: string;
  org: string;
  /** JSON of `eligibility_check_data`. */
  sealed: Binary;
  remove_at: Date;
}
