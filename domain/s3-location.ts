/** A place in an S3-compatible bucket. Credentials are found as AWS's clients find them: in variables, a profile or a role. */
export interface S3Location {
  bucket: string;
  /** Of every key, with its closing slash; empty for the whole bucket. */
  prefix: string;
  /** Of a server other than AWS's; buckets are then addressed by path. */
  endpoint?: string | undefined;
  region?: string | undefined;
}

const S3_URI = /^s3:\/\/([a-z0-9][a-z0-9.-]{1,61}[a-z0-9])(?:\/(.*))?$/;

/** @returns null for what is no `s3://bucket` or `s3://bucket/prefix` */
export function parseS3Uri(uri: string): { bucket: string; prefix: string } | null {
  const found = S3_URI.exec(uri);
  if (!found) return null;
  const [, bucket, path = ''] = found;
  const prefix = path.replace(/(?<!\/)\/+$/, '');
  return { bucket: bucket!, prefix: prefix === '' ? '' : `${prefix}/` };
}
