import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { parseAllowedCidrs } from '../../domain/address-rules.js';
import type { OutboundClient } from '../../domain/outbound.js';
import { createForeignParser } from '../../providers/connectors/index.js';
import { createRequests } from '../../providers/connectors/requests.js';
import { createWebSource, type Wait } from '../../providers/connectors/web.js';
import { createOutboundClient } from '../../providers/outbound/guarded-client.js';
import { eventually } from '../support/eventually.js';
import { html, type Site, startSite } from '../support/site.js';

const PATHS = ['/a', '/b', '/c', '/d', '/e'];

// The test controls the waiting of the source, so nothing waits in real time.
describe('the crawl delay of a site', () => {
  let site: Site;
  let outbound: OutboundClient;
  let folder: string;
  const parser = createForeignParser();
  afterAll(() => parser.close());
  let waiting: { ms: number; end: () => void }[];

  beforeEach(async () => {
    site = await startSite(Object.fromEntries(PATHS.map((path) => [path, html('Page', `The page ${path}.`)])));
    outbound = createOutboundClient({ allowedCidrs: parseAllowedCidrs('127.0.0.0/8') });
    folder = mkdtempSync(join(tmpdir(), 'postback-pace-'));
    waiting = [];
  });
  afterEach(async () => {
    await outbound.close();
    await site.close();
    rmSync(folder, { recursive: true, force: true });
  });

  const controlledWait: Wait = (ms) => new Promise<void>((end) => waiting.push({ ms, end }));
  const robots = (body: string) => site.pages.set('/robots.txt', { body, type: 'text/plain' });
  const pageRequests = () => site.requests.filter((request) => !request.endsWith('/robots.txt'));

  /** Fetches all pages at the same time. */
  function fetchAll({ wait = controlledWait, signal = new AbortController().signal } = {}) {
    const requests = createRequests(outbound, { timeoutMs: 60_000, maxBytes: 10_000 });
    const urls = PATHS.map((path) => site.url + path);
    const source = createWebSource({ urls, follow_links: false, max_depth: 2 }, { requests, parser, folder }, wait);
    return Promise.all(urls.map((key, n) => source.fetch({ key }, join(folder, String(n)), signal)));
  }

  test('the delay passes between any two requests, even when many pages are fetched at the same time', async () => {
    robots('User-agent: *\nCrawl-delay: 7\n');
    const fetched = fetchAll();
    for (const turn of PATHS.keys()) {
      await eventually(`wait ${turn + 1}`, () => waiting.length === turn + 1);
      expect(pageRequests()).toHaveLength(turn);
      waiting[turn]!.end();
    }
    expect((await fetched).map(({ state }) => state)).toEqual(PATHS.map(() => 'content'));
    expect(waiting.map(({ ms }) => ms)).toEqual(PATHS.map(() => 7_000));
    expect(pageRequests()).toEqual(PATHS.map((path) => `200 ${path}`));
    expect(site.requests.filter((request) => request.endsWith('/robots.txt'))).toHaveLength(1);
  });

  test.each<[string, string, number[]]>([
    ['the delay is zero when robots.txt has none', 'User-agent: *\nDisallow: /private/\n', []],
    ['the delay of another robot is ignored', 'User-agent: Other\nCrawl-delay: 9\n', []],
    ['the delay for Postback takes precedence', 'User-agent: *\nCrawl-delay: 9\n\nUser-agent: Postback\nCrawl-delay: 2\n', [2_000]], // biome-ignore format: one line
    ['the delay may be a fraction of a second', 'User-agent: *\nCrawl-delay: 0.5\n', [500]],
    ['the delay is limited to a minute', 'User-agent: *\nCrawl-delay: 86400\n', [60_000]],
    ['the delay is zero when it is not a number', 'User-agent: *\nCrawl-delay: soon\n', []],
  ])('%s', async (_what, text, each) => {
    robots(text);
    const waits: number[] = [];
    await fetchAll({ wait: async (ms) => waits.push(ms) });
    expect(waits).toEqual(each.flatMap((ms) => PATHS.map(() => ms)));
    expect(pageRequests()).toHaveLength(PATHS.length);
  });

  test('the delay ends early when the sync is cancelled', async () => {
    robots('User-agent: *\nCrawl-delay: 60\n');
    const stop = new AbortController();
    const requests = createRequests(outbound, { timeoutMs: 60_000, maxBytes: 10_000 });
    const source = createWebSource({ urls: [], follow_links: false, max_depth: 2 }, { requests, parser, folder });
    const fetched = source.fetch({ key: `${site.url}/a` }, join(folder, 'page'), stop.signal);
    await eventually('robots.txt read', () => site.requests.length === 1);
    stop.abort();
    await expect(fetched).rejects.toThrow(/abort/);
    expect(pageRequests()).toEqual([]);
  });
});
