import { randomUUID } from 'node:crypto';
import { DeleteObjectCommand, HeadBucketCommand, PutObjectCommand, S3Client } from '@aws-sdk/client-s3';
import type { S3Location } from '../domain/s3-location.js';

/** @throws Error when the bucket cannot be reached */
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
 * Makes sure that of two writers of one new object the second is refused. Processes that write one table of the search index
 * rely on it: where it does not hold, rows would be lost without a word.
 * @throws Error when the bucket cannot be reached, or lets the second writer pass
 */
export async function requireConditionalWrites(location: S3Location): Promise<void> {
  const client = await connectBucket(location);
  const object = { Bucket: location.bucket, Key: `${location.prefix}probe-${randomUUID()}` };
  const writeNew = () => client.send(new PutObjectCommand({ ...object, Body: '', IfNoneMatch: '*' }));
  try {
    await writeNew();
    const second = await writeNew().then(
      () => 'passed',
      (error: { $metadata?: { httpStatusCode?: number } }) => error.$metadata?.httpStatusCode,
    );
    await client.send(new DeleteObjectCommand(object));
    if (second !== 412) {
      throw new Error(
        `The bucket "${location.bucket}" cannot hold the search index: its server does not refuse the second writer of an object (If-None-Match).`,
      );
    }
  } finally {
    client.destroy();
  }
}

function createClient({ endpoint, region }: S3Location): S3Client {
  // The client's own limit is none.
  const requestHandler = { connectionTimeout: 5_000, socketTimeout: 30_000 };
  if (endpoint === undefined) return new S3Client({ requestHandler, ...(region && { region }) });
  return new S3Client({
    requestHandler,
    endpoint,
    // Such servers seldom have regions or names for buckets, and some know none of the newer checksums.
    region: region ?? 'us-east-1',
    forcePathStyle: true,
    requestChecksumCalculation: 'WHEN_REQUIRED',
    responseChecksumValidation: 'WHEN_REQUIRED',
  });
}

/** A refusal without a body has no message of its own. */
function reasonOf({ name, message }: Error): string {
  return message === '' || message === 'UnknownError' ? name : message;
}
