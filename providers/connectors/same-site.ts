import { SourceError } from '../../domain/connectors/connectors.js';

const MAX_REDIRECTS = 5;

/** @returns the normalised URL without its fragment, or undefined when it is not on the site of `base` */
export function sameSiteUrl(reference: string, base: string): string | undefined {
  if (!URL.canParse(reference, base)) return undefined;
  const url = new URL(reference, base);
  if (siteOf(url) !== siteOf(new URL(base)) || !/^https?:$/.test(url.protocol)) return undefined;
  url.hash = '';
  return url.href;
}

/** Host and port. A host with and without `www.` is the same site, and so are http and https. */
function siteOf(url: URL): string {
  return `${url.hostname.replace(/^www\./, '')}:${url.port}`;
}

/**
 * Repeats a request at the target of each redirect, on the same site only. Each is a guarded request of its own.
 * @returns the last URL with its response, which may be 304
 * @throws SourceError REDIRECTED
 */
export async function followRedirects<Response extends { status: number; headers: Record<string, string> }>(
  first: string,
  request: (url: string) => Promise<Response>,
): Promise<{ url: string; response: Response }> {
  let url = first;
  for (let redirects = 0; redirects <= MAX_REDIRECTS; redirects++) {
    const response = await request(url);
    const { status, headers } = response;
    if (status < 300 || status === 304 || status >= 400) return { url, response };
    const target = headers.location === undefined ? undefined : sameSiteUrl(headers.location, url);
    if (target === undefined)
      throw new SourceError('REDIRECTED', 'The URL redirects to another site. Configure the URL of that site.');
    url = target;
  }
  throw new SourceError('REDIRECTED', `The URL redirects more than ${MAX_REDIRECTS} times.`);
}
