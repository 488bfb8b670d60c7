import { basename, join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import iconv from 'iconv-lite';
import { SourceError, type WebSettings } from '../../domain/connectors/connectors.js';
import { MAX_LISTING_BYTES } from './parsing/listing.js';
import { checkStatus, conditions, isGone, isUnchanged, validatorsOf } from './requests.js';
import { createRobots } from './robots.js';
import { followRedirects, sameSiteUrl } from './same-site.js';
import type { Source, SourceTools } from './source.js';

const HTML = /^(text\/html|application\/xhtml\+xml)/i;

/** The sitemaps that are still to be listed, as JSON. */
interface Cursor {
  sitemaps: string[];
}

export type Wait = (ms: number, signal: AbortSignal) => Promise<unknown>;
const waitFor: Wait = (ms, signal) => delay(ms, undefined, { signal });

/**
 * Web pages, configured by URL or by a sitemap. Requests respect robots.txt and its crawl delay. Redirects are followed on
 * the same site.
 */
export function createWebSource(settings: WebSettings, tools: SourceTools, wait: Wait = waitFor): Source {
  const { requests, parser, folder } = tools;
  const robots = createRobots(tools);
  /** The last request to each site, so that the crawl delay lies between any two requests. */
  const queues = new Map<string, Promise<unknown>>();

  /** Sends a request after the earlier ones to its site, if the site asks for a crawl delay. */
  async function paced<T>(url: URL, signal: AbortSignal, request: () => Promise<T>): Promise<T> {
    const delayMs = await robots.crawlDelay(url, signal);
    if (delayMs === 0) return request();
    const previous = queues.get(url.origin) ?? Promise.resolve();
    const current = previous.then(() => wait(delayMs, signal)).then(request);
    queues.set(
      url.origin,
      current.catch(() => undefined),
    );
    return current;
  }

  return {
    concurrency: 4,

    async list(cursor, _validators, signal) {
      const position: Cursor = cursor ? JSON.parse(cursor) : { sitemaps: settings.sitemap ? [settings.sitemap] : [] };
      // The configured pages are part of the first page of the listing.
      const configured = cursor ? [] : (settings.urls ?? []).map((url) => sameSiteUrl(url, url)!);
      const [sitemap, ...rest] = position.sitemaps;
      if (sitemap === undefined) return { resources: asResources(configured), next: null };
      const path = join(folder, 'sitemap');
      const { response } = await followRedirects(sitemap, (url) =>
        requests.download(url, {}, path, signal, MAX_LISTING_BYTES),
      );
      checkStatus(response.status);
      const found = await parser.parse('sitemap', { path, url: sitemap }, signal);
      // An index lists sitemaps, not further indexes (sitemaps.org), so the listing cannot be endless.
      const sitemaps = [...rest, ...(cursor ? [] : found.sitemaps)];
      return {
        resources: asResources([...configured, ...found.pages]),
        next: sitemaps.length > 0 ? JSON.stringify({ sitemaps } satisfies Cursor) : null,
      };
    },

    async fetch(resource, path, signal) {
      const headers = { Accept: 'text/html,*/*;q=0.8', ...conditions(resource) };
      const { url, response } = await followRedirects(resource.key, (url) =>
        paced(new URL(url), signal, () => requests.download(url, headers, path, signal)),
      );
      if (isUnchanged(response.status)) return { state: 'unchanged' };
      if (isGone(response.status)) return { state: 'gone' };
      checkStatus(response.status);
      const type = response.headers['content-type'] ?? '';
      const encoding = response.headers['content-encoding'] ?? 'identity';
      if (encoding !== 'identity')
        throw new SourceError('HTTP_STATUS', 'The server used a content encoding that was not requested.');
      const charset = foreignCharset(type);
      if (charset) await parser.parse('recode', { path, charset }, signal);
      return {
        state: 'content',
        filename: filenameOf(url, type),
        url,
        ...validatorsOf(response.headers),
        // None, unlike unknown: a page without links need not be read again for its links.
        ...(settings.follow_links
          ? { links: HTML.test(type) ? await parser.parse('links', { path, url }, signal) : [] }
          : {}),
      };
    },
  };
}

const asResources = (keys: string[]) => [...new Set(keys)].map((key) => ({ key }));

function filenameOf(url: string, type: string): string {
  const last = basename(new URL(url).pathname);
  const name = decodeSafely(last).replaceAll('/', '_') || 'index';
  return HTML.test(type) && !/\.x?html?$/i.test(name) ? `${name}.html` : name;
}

function decodeSafely(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/** The charset of a text other than UTF-8, by its Content-Type. The file is converted, because extraction sees the file alone. */
function foreignCharset(type: string): string | undefined {
  const charset = /charset="?([^\s;"]+)/i.exec(type)?.[1]?.toLowerCase();
  if (!type.startsWith('text/') || !charset || /^utf-?8$/.test(charset)) return undefined;
  return iconv.encodingExists(charset) ? charset : undefined;
}
