import { readFeed } from './feed.js';
import { readLinks, recode } from './links.js';
import { judgePage } from './robots.js';
import { readS3Listing } from './s3-listing.js';
import { readSitemap } from './sitemap.js';

/** What can be parsed of what connectors fetch. Paths are local files. */
const PARSERS = {
  sitemap: readSitemap,
  feed: readFeed,
  s3: readS3Listing,
  links: readLinks,
  recode,
  robots: judgePage,
};

export type ParseKind = keyof typeof PARSERS;
export type ParseInput<Kind extends ParseKind> = Parameters<(typeof PARSERS)[Kind]>[0];
export type ParseResult<Kind extends ParseKind> = Awaited<ReturnType<(typeof PARSERS)[Kind]>>;
export type ParseTask = { kind: ParseKind } & ParseInput<ParseKind>;

/** The work of a parsing process of the connectors. @throws SourceError */
export default async function run({ kind, ...input }: ParseTask): Promise<unknown> {
  return PARSERS[kind](input as never);
}
