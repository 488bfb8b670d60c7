import { load } from 'cheerio/slim';
import { SourceError } from '../../domain/connectors/connectors.js';

/** Sitemaps that one index may name (the protocol allows 50,000; their list travels as the listing's cursor). */
const MAX_CHILDREN = 5_000;

/**
 * Reads a sitemap, a sitemap index or a plain list of addresses (sitemaps.org).
 * @returns pages and further sitemaps, only those of the sitemap's own site
 * @throws SourceError INVALID_LISTING
 */
export function readSitemap(text: string, url: string): { pages: string[]; sitemaps: string[] } {
  const xml = load(text, { xml: true });
  const own = (addresses: string[]) => [...new Set(addresses.flatMap((one) => onSite(one.trim(), url) ?? []))];
  const texts = (selector: string) =>
    xml(selector)
      .toArray()
      .map((node) => xml(node).text());
  if (xml('sitemapindex').length > 0) {
    return { pages: [], sitemaps: own(texts('sitemapindex > sitemap > loc')).slice(0, MAX_CHILDREN) };
  }
  if (xml('urlset').length > 0) return { pages: own(texts('urlset > url > loc')), sitemaps: [] };
  const lines = text.split(/\r?\n/).filter((line) => line.trim() !== '');
  if (lines.length > 0 && lines.every((line) => URL.canParse(line.trim()))) return { pages: own(lines), sitemaps: [] };
  throw new SourceError('INVALID_LISTING', 'The sitemap could not be understood.');
}

/** The address in its normal form, without a fragment, when it belongs to the site of `base`. */
export function onSite(reference: string, base: string): string | undefined {
  if (!URL.canParse(reference, base)) return undefined;
  const url = new URL(reference, base);
  if (siteOf(url) !== siteOf(new URL(base)) || !/^https?:$/.test(url.protocol)) return undefined;
  url.hash = '';
  return url.href;
}

/** A host with and without `www.` is one site; the scheme does not part sites either. */
function siteOf(url: URL): string {
  return `${url.hostname.replace(/^www\./, '')}:${url.port}`;
}
