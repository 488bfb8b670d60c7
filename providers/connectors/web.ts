import { readFile, writeFile } from 'node:fs/promises';
import { basename } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { load } from 'cheerio/slim';
import iconv from 'iconv-lite';
import { SourceError, type WebSettings } from '../../domain/connectors/connectors.js';
import { conditions, isUnchanged, type Requests, refuseStatus, validatorsOf } from './request.js';
import { createRobots } from './robots.js';
import { onSite, readSitemap } from './sitemap.js';
import type { Source } from './source.js';

const MAX_REDIRECTS = 5;
const MAX_LINKS = 1_000;
const HTML = /^(text\/html|application\/xhtml\+xml)/i;

/** Where the listing of sitemaps goes on. */
interface Cursor {
  sitemaps: string[];
}

export type Wait = (ms: number, signal: AbortSignal) => Promise<unknown>;
const waitFor: Wait = (ms, signal) => delay(ms, undefined, { signal });

/**
 * Pages of the web, named one by one or by a sitemap. robots.txt and its crawl delay are kept to; redirects are followed
 * on the same site, each by a guarded request of its own.
 */
export function createWebSource(settings: WebSettings, requests: Requests, wait: Wait = waitFor): Source {
  const robots = createRobots(requests);
  /** The end of what was asked of each site, so that its crawl delay lies between any two requests. */
  const queues = new Map<string, Promise<unknown>>();

  /** In turn with the other requests to this site, when the site asks for a delay between them. */
  async function paced<T>(url: URL, signal: AbortSignal, request: () => Promise<T>): Promise<T> {
    const delayMs = await robots.admit(url, signal);
    if (delayMs === 0) return request();
    const before = queues.get(url.origin) ?? Promise.resolve();
    const turn = before.then(() => wait(delayMs, signal)).then(request);
    queues.set(
      url.origin,
      turn.catch(() => undefined),
    );
    return turn;
  }

  return {
    concurrency: 4,

    async list(cursor, _validators, signal) {
      const place: Cursor = cursor ? JSON.parse(cursor) : { sitemaps: settings.sitemap ? [settings.sitemap] : [] };
      // The pages named come with the first page of the listing.
      const named = cursor ? [] : (settings.urls ?? []).map((url) => onSite(url, url)!);
      const [sitemap, ...rest] = place.sitemaps;
      if (sitemap === undefined) return { resources: asResources(named), next: null };
      const { status, body } = await readFollowing(requests, sitemap, signal);
      refuseStatus(status);
      const found = readSitemap(body.toString('utf8'), sitemap);
      // An index names sitemaps, not further indexes (sitemaps.org); so no circle is walked.
      const sitemaps = [...rest, ...(cursor ? [] : found.sitemaps)];
      return {
        resources: asResources([...named, ...found.pages]),
        next: sitemaps.length > 0 ? JSON.stringify({ sitemaps } satisfies Cursor) : null,
      };
    },

    async fetch(wanted, path, signal) {
      let url = wanted.key;
      for (let redirects = 0; redirects <= MAX_REDIRECTS; redirects++) {
        const { status, headers } = await paced(new URL(url), signal, () =>
          requests.download(url, { Accept: 'text/html,*/*;q=0.8', ...conditions(wanted) }, path, signal),
        );
        if (isUnchanged(status)) return { state: 'unchanged' };
        if (status === 404 || status === 410) return { state: 'gone' };
        if (status >= 300 && status < 400) {
          url = redirected(url, headers.location);
          continue;
        }
        refuseStatus(status);
        const type = headers['content-type'] ?? '';
        const encoding = headers['content-encoding'] ?? 'identity';
        if (encoding !== 'identity')
          throw new SourceError('HTTP_STATUS', 'The server answered in an encoding not asked for.');
        await unifyCharset(path, type);
        return {
          state: 'content',
          filename: filenameOf(url, type),
          url,
          ...validatorsOf(headers),
          ...(settings.follow_links && HTML.test(type) ? { links: await linksOf(path, url) } : {}),
        };
      }
      throw new SourceError('REDIRECTED', `The address leads on more than ${MAX_REDIRECTS} times.`);
    },
  };
}

const asResources = (keys: string[]) => [...new Set(keys)].map((key) => ({ key }));

async function readFollowing(requests: Requests, first: string, signal: AbortSignal) {
  let url = first;
  for (let redirects = 0; redirects <= MAX_REDIRECTS; redirects++) {
    const answer = await requests.read(url, {}, signal);
    if (answer.status < 300 || answer.status >= 400) return answer;
    url = redirected(url, answer.headers.location);
  }
  throw new SourceError('REDIRECTED', `The address leads on more than ${MAX_REDIRECTS} times.`);
}

/** @throws SourceError when it is another site's */
function redirected(from: string, location: string | undefined): string {
  const to = location === undefined ? undefined : onSite(location, from);
  if (to === undefined) throw new SourceError('REDIRECTED', 'The address leads to another site; name that one.');
  return to;
}

function filenameOf(url: string, type: string): string {
  const last = basename(new URL(url).pathname);
  const name = safelyDecoded(last).replaceAll('/', '_') || 'index';
  return HTML.test(type) && !/\.x?html?$/i.test(name) ? `${name}.html` : name;
}

function safelyDecoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/** A charset that only the header names is written into the file, as UTF-8 with its mark; what follows reads files alone. */
async function unifyCharset(path: string, type: string): Promise<void> {
  const charset = /charset="?([^\s;"]+)/i.exec(type)?.[1]?.toLowerCase();
  if (!type.startsWith('text/') || !charset || /^utf-?8$/.test(charset) || !iconv.encodingExists(charset)) return;
  await writeFile(path, iconv.encode(iconv.decode(await readFile(path), charset), 'utf-8', { addBOM: true }));
}

async function linksOf(path: string, url: string): Promise<string[]> {
  const html = load(await readFile(path, 'utf8'));
  const base = html('base[href]').attr('href');
  const from = base !== undefined && URL.canParse(base, url) ? new URL(base, url).href : url;
  const found = html('a[href]:not([rel~="nofollow"])')
    .toArray()
    .flatMap((link) => {
      const target = html(link).attr('href')!;
      return URL.canParse(target, from) ? (onSite(new URL(target, from).href, url) ?? []) : [];
    });
  return [...new Set(found)].filter((link) => link.length <= 2048).slice(0, MAX_LINKS);
}
