export interface UploadRecord {
  /** `fil_…`, also the name of its content in the file store. */
  _id: string;
  org: string;
  filename: string;
  /** Bytes. */
  size: number;
  mime_type: string;
  created_at: Date;
  expires_at: Date;
}
