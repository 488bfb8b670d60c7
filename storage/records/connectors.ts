import type { Binary } from 'mongodb';
import type {
  ConnectorKind,
  ConnectorSchedule,
  ConnectorSettings,
  SyncCounts,
  SyncStatus,
} from '../../domain/connectors.js';

export interface ConnectorRecord {
  /** `con_…` */
  _id: string;
  org: string;
  kind: ConnectorKind;
  /** The database's internal id, and its name. */
  tenant: string;
  database: string;
  collection: string;
  /** As its kind's schema gives them. */
  settings: ConnectorSettings;
  /** JSON. */
  sealed_credentials: Binary | null;
  schedule: ConnectorSchedule;
  sync: SyncRecord | null;
  /** The feed's validators at the last sync without a failure. */
  listing: Validators;
  /** What Temporal has yet to be told: its schedule, or that it is gone. */
  pending: boolean;
  /** Set when it was deleted; only its removal knows it from then on. */
  deleted_at: Date | null;
  remove_items: boolean;
  created_at: Date;
  updated_at: Date;
}

/** The connector's latest sync. */
export interface SyncRecord {
  number: number;
  status: SyncStatus;
  started_at: Date;
  finished_at: Date | null;
  /** Where the listing goes on; null at its beginning and after its end. */
  cursor: string | null;
  listed: boolean;
  /** More was listed than a sync takes in. */
  truncated: boolean;
  /** Of its listing; kept when it ends without a failure. */
  validators: Validators;
  steps: number;
  removed: number;
  error_code: string | null;
  error_message: string | null;
  /** Counted once it has ended. */
  counts: SyncCounts | null;
}

/** What a source said about a version of a resource, to be asked by at the next sync. */
export interface Validators {
  etag?: string | undefined;
  last_modified?: string | undefined;
}
