import { endsWith, readXml } from './xml.js';

export interface S3Listing {
  /** False when the response is not a listing. */
  valid: boolean;
  resources: { key: string; etag?: string }[];
  next: string | null;
  /** Code of an error response. */
  error: string | null;
}

/** Reads a response of ListObjectsV2. A key that ends in a slash is a folder. */
export async function readS3Listing({ text }: { text: string }): Promise<S3Listing> {
  const listing: S3Listing = { valid: false, resources: [], next: null, error: null };
  let [key, etag, next, truncated] = ['', '', '', false];
  await readXml([text], (path, value) => {
    if (endsWith(path, 'Contents', 'Key')) key = value;
    else if (endsWith(path, 'Contents', 'ETag')) etag = value;
    else if (endsWith(path, 'Contents')) {
      if (key !== '' && !key.endsWith('/')) listing.resources.push(etag === '' ? { key } : { key, etag });
      key = '';
      etag = '';
    } else if (endsWith(path, 'ListBucketResult', 'IsTruncated')) truncated = value === 'true';
    else if (endsWith(path, 'ListBucketResult', 'NextContinuationToken')) next = value;
    else if (endsWith(path, 'Error', 'Code')) listing.error = value;
    else if (endsWith(path, 'ListBucketResult')) listing.valid = true;
  });
  if (truncated && next !== '') listing.next = next;
  return listing;
}
