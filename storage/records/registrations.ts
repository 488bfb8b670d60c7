import type { Binary } from 'mongodb';
import type { EventType } from '../../domain/webhooks.js';

export interface RegistrationRecord {
  /** The organisation: there is one registration each. */
  _id: string;
  url: string;
  event_types: EventType[];
  sealed_secret: Binary | null;
  /** Since when every attempt has failed; null (or absent) after a success. */
  failing_since?: Date | null;
  /** Set when the service stopped sending; registering again clears it. */
  disabled_at?: Date | null;
  disabled_reason?: string | null;
  created_at: Date;
  updated_at: Date;
}
