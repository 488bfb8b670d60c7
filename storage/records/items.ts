import type { FileKind } from '../../domain/extraction.js';
import type { ItemType } from '../../domain/search.js';
import type { IndexingStatus } from '../../domain/states.js';

export type ItemSource =
  | { kind: 'file'; file_id: string; filename: string; file_kind: FileKind; mime_type: string; size: number }
  | { kind: 'text'; text: string };

export interface ItemRecord {
  _id: string;
  org: string;
  /** The database's internal id. */
  tenant: string;
  database: string;
  collection: string;
  /** The client's id, unique in the database. */
  id: string;
  type: ItemType;
  /** Grows with each replacement; a workflow works on exactly one. */
  version: number;
  title: string | null;
  source: ItemSource;
  /** Of the source; filled in when the item is queued. */
  bytes?: number;
  /** Tells an ingest that would change nothing; absent when that cannot be told. */
  content_hash?: string | undefined;
  metadata: Record<string, unknown>;
  additional_metadata: Record<string, unknown>;
  /** The ingest request it came with. */
  batch: string;
  indexing_status: IndexingStatus;
  error_code: string | null;
  error_message: string | null;
  /** Names the changes that its index rows may have yet to follow. */
  rows_due?: string[];
  /** Counts these changes, and how often rows have been written for them. */
  rows_revision?: number;
  /** From when on the sweep may wonder whether its workflow exists, or who writes its index rows. */
  check_at: Date;
  created_at: Date;
  updated_at: Date;
}
