import { randomUUID } from 'node:crypto';
import { DeleteObjectCommand, HeadBucketCommand, PutObjectCommand, S3Client } from '@aws-sdk/client-s3';
import type { S3Location } from '../domain/s3-location.js';

/** @returns a client for a bucket that exists. @throws Error when the bucket cannot be reached */
export async function connectBucket(location: S3Location): Promise<S3Client> {
  const client = createClient(location);
  try {
    await client.send(new HeadBucketCommand({ Bucket: location.bucket }));
    return client;
  } catch (error) {
    client.destroy();
    throw new Error(`The bucket "${location.bucket}" cannot be reached: ${reasonOf(error as Error)}.`);
  }
}

/**
 * Checks that the server rejects the second writer of a new object. Processes that write to the same table of the search
 * index depend on it: otherwise rows would be lost silently.
 * @throws Error when the bucket cannot be reached, or accepts the second writer
 */
export async function requireConditionalWrites(location: S3Location): Promise<void> {
  const client = await connectBucket(location);
  const object = { Bucket: location.bucket, Key: `${location.prefix}probe-${randomUUID()}` };
  const writeNew = () => client.send(new PutObjectCommand({ ...object, Body: '', IfNoneMatch: '*' }));
  try {
    await writeNew();
    const second = await writeNew().then(
      () => 'accepted',
      (error: { $metadata?: { httpStatusCode?: number } }) => error.$metadata?.httpStatusCode,
    );
    await client.send(new DeleteObjectCommand(object));
    if (second !== 412) {
      throw new Error(
        `The bucket "${location.bucket}" cannot hold the search index: its server does not reject the second writer of an object (If-None-Match).`,
      );
    }
  } finally {
    client.destroy();
  }
}

function createClient({ endpoint, region }: S3Location): S3Client {
  // By default, the client has no timeouts.
  const requestHandler = { connectionTimeout: 5_000, socketTimeout: 30_000 };
  if (endpoint === undefined) return new S3Client({ requestHandler, ...(region && { region }) });
  return new S3Client({
    requestHandler,
    endpoint,
    // Most such servers have no regions and no host names for buckets, and some do not support the newer checksums.
    region: region ?? 'us-east-1',
    forcePathStyle: true,
    requestChecksumCalculation: 'WHEN_REQUIRED',
    responseChecksumValidation: 'WHEN_REQUIRED',
  });
}

/** An error response without a body has no message. */
function reasonOf({ name, message }: Error): string {
  return message === '' || message === 'UnknownError' ? name : message;
}
