import { basename } from 'node:path';
import { AwsV4Signer } from 'aws4fetch';
import { type S3Credentials, type S3Settings, SourceError } from '../../domain/connectors/connectors.js';
import { conditions, isUnchanged, statusError, validatorsOf } from './requests.js';
import type { Source, SourceTools } from './source.js';

/** A page of a listing has at most a thousand keys of a kilobyte. */
const MAX_LISTING_BYTES = 8 * 1024 * 1024;

/** SHA-256 of an empty body, which S3 requires as a header. */
const EMPTY_SHA256 = 'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855';

/** Messages for the client by the error code of S3. */
const MESSAGES: Record<string, string> = {
  NoSuchBucket: 'There is no such bucket.',
  AccessDenied: 'The bucket does not allow this with these credentials.',
  InvalidAccessKeyId: 'The server does not know the access key.',
  SignatureDoesNotMatch: 'The server does not accept the secret access key.',
  AuthorizationHeaderMalformed: 'The bucket is in another region.',
  PermanentRedirect: 'The bucket is in another region. Configure its endpoint.',
  ExpiredToken: 'The session token has expired.',
};

/** Objects of an S3-compatible bucket. Requests are signed (Signature Version 4); redirects are not followed. */
export function createS3Source(
  settings: S3Settings,
  credentials: S3Credentials | null,
  { requests, parser }: Pick<SourceTools, 'requests' | 'parser'>,
  keysPerPage = 1_000,
): Source {
  const { endpoint, bucket, prefix, region, path_style } = settings;

  function urlOf(key: string, query: Record<string, string> = {}): URL {
    const url = new URL(endpoint);
    if (!path_style) url.hostname = `${bucket}.${url.hostname}`;
    const folder = url.pathname.replace(/\/$/, '');
    url.pathname = `${folder}${path_style ? `/${bucket}` : ''}/${key.split('/').map(encode).join('/')}`;
    url.search = Object.entries(query)
      .map(([name, value]) => `${name}=${encode(value)}`)
      .join('&');
    return url;
  }

  async function signed(url: URL, headers: Record<string, string> = {}): Promise<Record<string, string>> {
    if (!credentials) return headers;
    const signer = new AwsV4Signer({
      url: url.href,
      method: 'GET',
      headers: { ...headers, 'X-Amz-Content-Sha256': EMPTY_SHA256 },
      accessKeyId: credentials.access_key_id,
      secretAccessKey: credentials.secret_access_key,
      ...(credentials.session_token === undefined ? {} : { sessionToken: credentials.session_token }),
      service: 's3',
      region,
    });
    return Object.fromEntries((await signer.sign()).headers as Headers);
  }

  return {
    concurrency: 4,

    async list(cursor, _validators, signal) {
      const url = urlOf('', {
        'list-type': '2',
        'max-keys': String(keysPerPage),
        prefix,
        ...(cursor === null ? {} : { 'continuation-token': cursor }),
      });
      const { status, body } = await requests.read(url.href, await signed(url), MAX_LISTING_BYTES, signal);
      const { valid, resources, next, error } = await parser.parse('s3', { text: body.toString('utf8') }, signal);
      if (status !== 200) throw statusError(status, error === null ? undefined : MESSAGES[error]);
      if (!valid) throw new SourceError('INVALID_LISTING', 'The response is not an S3 listing.');
      return { resources, next };
    },

    async fetch(resource, path, signal) {
      const url = urlOf(resource.key);
      const headers = await signed(url, conditions(resource));
      const response = await requests.download(url.href, headers, path, signal);
      if (isUnchanged(response.status)) return { state: 'unchanged' };
      if (response.status === 404) return { state: 'gone' };
      if (response.status !== 200) throw statusError(response.status);
      return {
        state: 'content',
        filename: basename(resource.key),
        url: `s3://${bucket}/${resource.key}`,
        ...validatorsOf(response.headers),
      };
    },
  };
}

/** Percent-encoding of Signature Version 4 (RFC 3986), which includes characters that `encodeURIComponent` leaves. */
function encode(text: string): string {
  return encodeURIComponent(text).replace(/[!'()*]/g, (c) => `%${c.charCodeAt(0).toString(16).toUpperCase()}`);
}
