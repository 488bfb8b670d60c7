import type { MetadataField } from '../../domain/metadata.js';
import type { DatabaseStatus } from '../../domain/states.js';

export interface DatabaseRecord {
  /** Internal id (`tnt_…`). */
  _id: string;
  org: string;
  name: string;
  status: DatabaseStatus;
  metadata_schema: MetadataField[];
  /** Set by the provisioning workflow, part by part. */
  graph_ready: boolean;
  created_at: Date;
  updated_at: Date;
}
