/** A location in an S3-compatible bucket. AWS's client finds the credentials in variables, a profile or a role. */
export interface S3Location {
  bucket: string;
  /** Prefix of every key, with a trailing slash; empty for the whole bucket. */
  prefix: string;
  /** URL of a server other than AWS; the bucket is then part of the path. */
  endpoint?: string | undefined;
  region?: string | undefined;
}

const S3_URI = /^s3:\/\/([a-z0-9][a-z0-9.-]{1,61}[a-z0-9])(?:\/(.*))?$/;

/** @returns null when the text is not `s3://bucket` or `s3://bucket/prefix` */
export function parseS3Uri(uri: string): { bucket: string; prefix: string } | null {
  const match = S3_URI.exec(uri);
  if (!match) return null;
  const [, bucket, path = ''] = match;
  const prefix = path.replace(/(?<!\/)\/+$/, '');
  return { bucket: bucket!, prefix: prefix === '' ? '' : `${prefix}/` };
}
