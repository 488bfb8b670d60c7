/** An object of the file store's bucket that belongs to no item yet. */
export interface UnclaimedFileRecord {
  /** The file's id, and the last part of the object's key. */
  _id: string;
  org: string;
  batch: string;
  /** Before the upload began. */
  created_at: Date;
}
