import { SourceError } from '../../../domain/connectors/connectors.js';
import { sameSiteUrl } from '../same-site.js';
import { readListingText } from './listing.js';
import { endsWith, readXml } from './xml.js';

/** Sitemaps that one index may list. (The protocol allows 50,000, but the list is part of the listing's cursor.) */
const MAX_CHILDREN = 5_000;
/** Pages of one sitemap, by the protocol. */
const MAX_PAGES = 50_000;
const MAX_URL = 2_048;

export interface Sitemap {
  pages: string[];
  sitemaps: string[];
}

/**
 * Reads a sitemap, a sitemap index, or a plain list of URLs (sitemaps.org).
 * @returns pages and further sitemaps on the sitemap's own site
 * @throws SourceError INVALID_LISTING, TOO_LARGE
 */
export async function readSitemap({ path, url }: { path: string; url: string }): Promise<Sitemap> {
  const pages = new Set<string>();
  const sitemaps = new Set<string>();
  const add = (to: Set<string>, entry: string, max: number) => {
    const target = entry.length > MAX_URL ? undefined : sameSiteUrl(entry, url);
    // Percent-encoding makes an address up to nine times as long, and the cursor has to fit into a record.
    if (target === undefined || target.length > MAX_URL) return;
    if (to.size === max && !to.has(target)) throw new SourceError('TOO_LARGE', `It lists more than ${max} addresses.`);
    to.add(target);
  };
  const pieces = readListingText(path);
  const first = ((await pieces.next()).value as string | undefined) ?? '';
  const all = async function* () {
    yield first;
    yield* pieces;
  };
  if (!/^\s*</.test(first)) {
    for await (const line of linesOf(all())) {
      if (!URL.canParse(line)) throw invalid();
      add(pages, line, MAX_PAGES);
    }
    if (first.trim() === '') throw invalid();
    return { pages: [...pages], sitemaps: [] };
  }
  let root = false;
  await readXml(all(), (path, text) => {
    if (endsWith(path, 'urlset') || endsWith(path, 'sitemapindex')) root = true;
    if (endsWith(path, 'urlset', 'url', 'loc')) add(pages, text.trim(), MAX_PAGES);
    if (endsWith(path, 'sitemapindex', 'sitemap', 'loc') && sitemaps.size < MAX_CHILDREN)
      add(sitemaps, text.trim(), MAX_CHILDREN);
  });
  if (!root) throw invalid();
  return sitemaps.size > 0 ? { pages: [], sitemaps: [...sitemaps] } : { pages: [...pages], sitemaps: [] };
}

async function* linesOf(pieces: AsyncIterable<string>): AsyncGenerator<string> {
  let rest = '';
  for await (const piece of pieces) {
    const lines = (rest + piece).split(/\r?\n/);
    rest = lines.pop()!;
    if (rest.length > MAX_URL) throw invalid();
    yield* lines.map((line) => line.trim()).filter((line) => line !== '');
  }
  if (rest.trim() !== '') yield rest.trim();
}

const invalid = () => new SourceError('INVALID_LISTING', 'This is not a valid sitemap.');
