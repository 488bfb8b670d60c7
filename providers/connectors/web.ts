import { readFile, writeFile } from 'node:fs/promises';
import { basename } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { load } from 'cheerio/slim';
import iconv from 'iconv-lite';
import { SourceError, type WebSettings } from '../../domain/connectors/connectors.js';
import { checkStatus, conditions, isGone, isUnchanged, type Requests, validatorsOf } from './requests.js';
import { createRobots } from './robots.js';
import { followRedirects, sameSiteUrl } from './same-site.js';
import { parseSitemap } from './sitemap.js';
import type { Source } from './source.js';

const MAX_LINKS = 1_000;
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
export function createWebSource(settings: WebSettings, requests: Requests, wait: Wait = waitFor): Source {
  const robots = createRobots(requests);
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
      const { response } = await followRedirects(sitemap, (url) => requests.read(url, {}, signal));
      checkStatus(response.status);
      const found = parseSitemap(response.body.toString('utf8'), sitemap);
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
      await convertToUtf8(path, type);
      return {
        state: 'content',
        filename: filenameOf(url, type),
        url,
        ...validatorsOf(response.headers),
        ...(settings.follow_links && HTML.test(type) ? { links: await linksOf(path, url) } : {}),
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

/** Converts a text file to UTF-8 with a byte order mark if the Content-Type header names another charset, because extraction sees the file alone. */
async function convertToUtf8(path: string, type: string): Promise<void> {
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
      return URL.canParse(target, from) ? (sameSiteUrl(new URL(target, from).href, url) ?? []) : [];
    });
  return [...new Set(found)].filter((link) => link.length <= 2048).slice(0, MAX_LINKS);
}
