import type { IncomingMessage, ServerResponse } from 'node:http';
import { setTimeout as wait } from 'node:timers/promises';
import { gzipSync } from 'node:zlib';
import { request as call } from '../support/api-client.js';
import type { HostileCase, Target } from './case.js';
import { sendChunksOfOneByte } from './serve.js';

type Page = string | Buffer | ((request: IncomingMessage, response: ServerResponse) => void);

/** A page whose body the case writes. */
const written =
  (write: (response: ServerResponse) => void): Page =>
  (_request, response) =>
    write(response.writeHead(200, { 'Content-Type': 'text/html' }));

/** Syncs a connector once and deletes it. @returns how its sync ended */
async function sync(target: Target, kind: string, settings: object): Promise<string> {
  const connector = { kind, database: target.database, settings };
  const { id } = await call(target, 'POST', '/connectors', connector);
  try {
    for (;;) {
      const { last_sync } = await call(target, 'GET', `/connectors/${id}/status`);
      if (last_sync && last_sync.status !== 'running') return describe(last_sync);
      if (target.signal.aborted) return 'still running';
      await wait(500);
    }
  } finally {
    await call(target, 'DELETE', `/connectors/${id}`);
  }
}

function describe({ status, error_code, new: added, failed }: Record<string, unknown>): string {
  return [status, error_code, added && `${added} new`, failed && `${failed} failed`].filter(Boolean).join(', ');
}

/** A case with a site of these pages; other paths are 404. */
const site = (
  what: string,
  pages: (url: string) => Record<string, Page>,
  settings: (url: string) => { kind?: string; [name: string]: unknown },
): HostileCase => ({
  name: `site: ${what}`,
  async prepare(target) {
    let served: Record<string, Page> = {};
    const url = await target.serve((request, response) => {
      const page = served[request.url ?? ''] ?? served['*'];
      if (page === undefined) response.writeHead(404).end();
      else if (typeof page === 'function') page(request, response);
      else response.writeHead(200, { 'Content-Type': 'text/html' }).end(page);
    });
    served = pages(url);
    const { kind = 'web', ...rest } = settings(url);
    return () => sync(target, kind, rest);
  },
});

const start = (url: string) => ({ urls: [`${url}page`] });
const feed = (url: string) => ({ kind: 'feed', url: `${url}feed` });
const sitemap = (url: string) => ({ sitemap: `${url}sitemap` });
const item = (title: string) =>
  `<rss version="2.0"><channel><title>x</title><item><guid>g</guid><title>${title}</title></item></channel></rss>`;

/** Websites and feeds whose answers are expensive to read. */
export const SITE_CASES: readonly HostileCase[] = [
  site(
    'robots.txt of 4 MB',
    () => ({ '/robots.txt': `User-agent: *\n${'Disallow: /*a*b*c*d$\n'.repeat(200_000)}`, '/page': '<html>x' }),
    start,
  ),
  site('a feed title of 4 MB of <', () => ({ '/feed': item('&lt;'.repeat(1_000_000)) }), feed),
  site(
    'a feed of CDATA within a feed of 20 MB',
    () => ({ '/feed': item(`<![CDATA[${'<a'.repeat(10_000_000)}]]>`) }),
    feed,
  ),
  site(
    'a feed of billion laughs',
    () => ({ '/feed': `<!DOCTYPE x [<!ENTITY a "${'b'.repeat(1_000_000)}">]>${item('&a;'.repeat(100_000))}` }),
    feed,
  ),
  site(
    'a gzipped sitemap of 6 million elements',
    () => ({ '/sitemap': gzipSync(`<urlset>${'<a/>'.repeat(6_000_000)}`) }),
    sitemap,
  ),
  site(
    'a sitemap of itself',
    (url) => ({
      '/sitemap': `<sitemapindex>${`<sitemap><loc>${url}sitemap</loc></sitemap>`.repeat(40_000)}</sitemapindex>`,
    }),
    sitemap,
  ),
  site(
    'pages that redirect without end',
    () => ({ '*': (request, response) => response.writeHead(302, { Location: `${request.url}x` }).end() }),
    start,
  ),
  site(
    'a page that trickles',
    () => ({
      '/page': written((response) => {
        const timer = setInterval(() => response.write('x'), 500);
        response.once('close', () => clearInterval(timer));
      }),
    }),
    start,
  ),
  site(
    'a page with 200,000 links',
    (url) => ({ '/page': `<html>${Array.from({ length: 200_000 }, (_, n) => `<a href="${url}${n}">x</a>`).join('')}` }),
    (url) => ({ ...start(url), follow_links: true, max_pages: 5 }),
  ),
  site(
    'a page in chunks of one byte',
    () => ({
      '/page': ({ socket }) => sendChunksOfOneByte(socket, 'text/html'),
    }),
    start,
  ),
  site(
    'a page that never ends',
    () => ({
      '/page': written((response) => {
        const piece = Buffer.alloc(1024 * 1024, 0x3c);
        const more = () => {
          while (!response.destroyed && response.write(piece));
        };
        response.on('drain', more);
        more();
      }),
    }),
    start,
  ),
];
