export interface EntityRecord {
  _id: string;
  item: string;
  version: number;
  tenant: string;
  source_id: string;
  name: string;
  /** Folded for look-ups across items. */
  key: string;
  type: string;
  mentions: { chunk_id: string; sentence: string }[];
}

export interface RelationRecord {
  _id: string;
  item: string;
  version: number;
  tenant: string;
  source_id: string;
  source: string;
  target: string;
  relation: string;
  evidence: { chunk_id: string; sentence: string }[];
}
