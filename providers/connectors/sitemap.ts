import { load } from 'cheerio/slim';
import { SourceError } from '../../domain/connectors/connectors.js';
import { sameSiteUrl } from './same-site.js';

/** Sitemaps that one index may list. (The protocol allows 50,000, but the list is part of the listing's cursor.) */
const MAX_CHILDREN = 5_000;

/**
 * Parses a sitemap, a sitemap index, or a plain list of URLs (sitemaps.org).
 * @returns pages and further sitemaps on the sitemap's own site
 * @throws SourceError INVALID_LISTING
 */
export function parseSitemap(text: string, url: string): { pages: string[]; sitemaps: string[] } {
  const xml = load(text, { xml: true });
  const onSite = (urls: string[]) => [...new Set(urls.flatMap((entry) => sameSiteUrl(entry.trim(), url) ?? []))];
  const texts = (selector: string) =>
    xml(selector)
      .toArray()
      .map((node) => xml(node).text());
  if (xml('sitemapindex').length > 0) {
    return { pages: [], sitemaps: onSite(texts('sitemapindex > sitemap > loc')).slice(0, MAX_CHILDREN) };
  }
  if (xml('urlset').length > 0) return { pages: onSite(texts('urlset > url > loc')), sitemaps: [] };
  const lines = text.split(/\r?\n/).filter((line) => line.trim() !== '');
  if (lines.length > 0 && lines.every((line) => URL.canParse(line.trim())))
    return { pages: onSite(lines), sitemaps: [] };
  throw new SourceError('INVALID_LISTING', 'This is not a valid sitemap.');
}
