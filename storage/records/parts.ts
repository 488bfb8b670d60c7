/** A finished part (page) of a job, or of a version of an item, under way. */
export interface PartRecord {
  /** Owner and part. */
  _id: string;
  /** The job's id, or the item's with its version. */
  owner: string;
  value: string;
  expires_at: Date;
}
