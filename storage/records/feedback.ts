export interface FeedbackRecord {
  /** `fbk_…`. */
  _id: string;
  org: string;
  tenant: string;
  database: string;
  query: string | null;
  /** The client's id of the item; of a chunk's, when a chunk was rated. Null when the answer as a whole was. */
  source_id: string | null;
  chunk_id: string | null;
  /** -1 to 1. */
  rating: number;
  comment: string | null;
  /** Database, source, key and question: of the ratings that have these in common only the last counts. */
  vote: string;
  /** Whether it is that one. */
  counts: boolean;
  created_at: Date;
}

/** The ratings that count of one source, summed up. */
export interface FeedbackTallyRecord {
  /** Internal id of the database and the client's id of the item. */
  _id: string;
  tenant: string;
  sum: number;
  count: number;
}
