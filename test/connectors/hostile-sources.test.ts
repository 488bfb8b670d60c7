import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { afterAll, describe, expect, test } from '@jest/globals';
import { parseAllowedCidrs } from '../../domain/address-rules.js';
import type { WebSettings } from '../../domain/connectors/connectors.js';
import { createForeignParser, createSources, type OpenSource } from '../../providers/connectors/index.js';
import { createOutboundClient } from '../../providers/outbound/guarded-client.js';
import { duringTests } from '../support/during-tests.js';
import { html, startSite } from '../support/site.js';

describe('hostile sites', () => {
  const folder = mkdtempSync(join(tmpdir(), 'postback-hostile-'));
  const outbound = createOutboundClient({ allowedCidrs: parseAllowedCidrs('127.0.0.0/8') });
  const parser = createForeignParser();
  const signal = new AbortController().signal;
  const limits = { timeoutMs: 60_000, maxBytes: 10_000_000 };
  const openSource: OpenSource = createSources(outbound, limits, parser);
  const site = duringTests(() => startSite());
  afterAll(async () => {
    await Promise.all([outbound.close(), parser.close()]);
    rmSync(folder, { recursive: true, force: true });
  });

  const web = (settings: Partial<WebSettings>) =>
    openSource(
      { kind: 'web', settings: { follow_links: false, max_depth: 2, max_pages: 10, ...settings }, credentials: null },
      folder,
    );
  function feed(body: string) {
    site.pages.set('/feed', { body, type: 'application/xml' });
    const settings = { url: `${site.url}/feed`, remove_dropped: false };
    return openSource({ kind: 'feed', settings, credentials: null }, folder);
  }
  function sitemap(body: string | Buffer) {
    site.pages.set('/sitemap', { body });
    return web({ sitemap: `${site.url}/sitemap` }).list(null, {}, signal);
  }
  const page = join(folder, 'page');

  test.each([
    ['a gzipped sitemap with millions of elements', () => gzipSync(`<urlset>${'<a/>'.repeat(6_000_000)}</urlset>`)],
    ['a gzipped sitemap that inflates beyond the limit', () => gzipSync(`<urlset>${' '.repeat(80_000_000)}`)],
    ['a sitemap that is nested without end', () => '<a>'.repeat(100_000)],
    [
      'a sitemap with too many pages',
      () =>
        `<urlset>${Array.from({ length: 50_001 }, (_, n) => `<url><loc>${site.url}/${n}</loc></url>`).join('')}</urlset>`,
    ],
  ])('%s is rejected', async (_, body) => {
    await expect(sitemap(body())).rejects.toMatchObject({ name: 'SourceError', code: 'TOO_LARGE' });
  });

  test('an address that percent-encoding makes too long is left out of a sitemap', async () => {
    const paths = ['€'.repeat(1_000), 'pages.xml'];
    const entries = paths.map((path) => `<sitemap><loc>${site.url}/${path}</loc></sitemap>`).join('');
    const { next } = await sitemap(`<sitemapindex>${entries}</sitemapindex>`);
    expect(JSON.parse(next!)).toEqual({ sitemaps: [`${site.url}/pages.xml`] });
  });

  test('a damaged gzip file is no listing', async () => {
    const whole = gzipSync('<urlset></urlset>');
    await expect(sitemap(whole.subarray(0, 12))).rejects.toMatchObject({ code: 'INVALID_LISTING' });
  });

  test('a sitemap that ends the process that reads it fails, and the next one is read', async () => {
    const small = createForeignParser({ memoryMb: 32, timeoutMs: 1 });
    const source = createSources(
      outbound,
      limits,
      small,
    )(
      {
        kind: 'web',
        settings: { follow_links: false, max_depth: 2, sitemap: `${site.url}/sitemap` } as WebSettings,
        credentials: null,
      },
      folder,
    );
    site.pages.set('/sitemap', { body: `<urlset><url><loc>${site.url}/a</loc></url></urlset>` });
    await expect(source.list(null, {}, signal)).rejects.toMatchObject({ code: 'TOO_LARGE' });
    await small.close();
    expect((await sitemap(`<urlset><url><loc>${site.url}/a</loc></url></urlset>`)).resources).toEqual([
      { key: `${site.url}/a` },
    ]);
  });

  test('of a robots.txt of 4 MB, the first 500 KiB count', async () => {
    const filler = Array.from({ length: 250_000 }, (_, n) => `Disallow: /x${n}`).join('\n');
    site.pages.set('/robots.txt', { body: `User-agent: *\nDisallow: /private/\n${filler}\nDisallow: /late/` });
    for (const path of ['/private/a', '/late/a']) site.pages.set(path, { body: html('Page', 'A page.') });
    const source = web({});
    await expect(source.fetch({ key: `${site.url}/private/a` }, page, signal)).rejects.toMatchObject({
      code: 'ROBOTS_DISALLOWED',
    });
    expect(await source.fetch({ key: `${site.url}/late/a` }, page, signal)).toMatchObject({ state: 'content' });
    site.pages.delete('/robots.txt');
  });

  test('a page gives at most 1,000 links', async () => {
    site.pages.set('/links', {
      body: html(
        'Links',
        '',
        Array.from({ length: 30_000 }, (_, n) => `/page/${n}`),
      ),
    });
    const fetched = await web({ follow_links: true }).fetch({ key: `${site.url}/links` }, page, signal);
    expect(fetched.state === 'content' && fetched.links).toHaveLength(1_000);
  });

  test('validators that a request cannot repeat are not kept', async () => {
    const headers = { ETag: '"\u00e9\u00e9"', 'Last-Modified': `x${' '.repeat(5_000)}x` };
    site.pages.set('/etag', { body: html('Page', 'A page.'), headers });
    const fetched = await web({}).fetch({ key: `${site.url}/etag` }, page, signal);
    expect(fetched).toMatchObject({ state: 'content', etag: undefined, last_modified: undefined });
  });

  test('a feed title of angle brackets is shortened, and its entry is read', async () => {
    const title = '&lt;'.repeat(1_000_000);
    const source = feed(
      `<rss version="2.0"><channel><title>x</title><item><guid>g</guid><title>${title}</title><description>Text.</description></item></channel></rss>`,
    );
    expect((await source.list(null, {}, signal)).resources).toHaveLength(1);
    const fetched = await source.fetch({ key: 'g' }, page, signal);
    expect(fetched.state === 'content' && fetched.title).toBe('<'.repeat(500));
    expect(readFileSync(page, 'utf8')).toContain('Text.');
  });

  test('a feed with millions of elements is rejected', async () => {
    const source = feed(`<rss version="2.0"><channel>${'<item/>'.repeat(1_100_000)}</channel></rss>`);
    await expect(source.list(null, {}, signal)).rejects.toMatchObject({ code: 'TOO_LARGE' });
  });
});
