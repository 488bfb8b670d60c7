import { type ResourceErrorCode, SourceError } from '../../../domain/connectors/connectors.js';
import { type FeedEntry, readFeed } from './feed.js';
import { readLinks, recode } from './links.js';
import { judgePage, type RobotsVerdict } from './robots.js';
import { readS3Listing, type S3Listing } from './s3-listing.js';
import { readSitemap, type Sitemap } from './sitemap.js';

/** What can be parsed of what connectors fetch: the input and the result of each kind. Paths are local files. */
export interface Parsing {
  sitemap: { input: { path: string; url: string }; result: Sitemap };
  feed: { input: { path: string; base: string; contents: string | null }; result: FeedEntry[] };
  s3: { input: { text: string }; result: S3Listing };
  links: { input: { path: string; url: string }; result: string[] };
  recode: { input: { path: string; charset: string }; result: null };
  robots: { input: { robots: string; page: string }; result: RobotsVerdict };
}

export type ParseTask = { [Kind in keyof Parsing]: { kind: Kind } & Parsing[Kind]['input'] }[keyof Parsing];
export type ParseOutcome = { result: unknown } | { failure: { code: ResourceErrorCode; message: string } };

/** The work of a parsing process of the connectors. */
export default async function run(task: ParseTask): Promise<ParseOutcome> {
  try {
    return { result: await parse(task) };
  } catch (error) {
    if (!(error instanceof SourceError)) throw error;
    return { failure: { code: error.code, message: error.message } };
  }
}

async function parse(task: ParseTask): Promise<unknown> {
  switch (task.kind) {
    case 'sitemap':
      return readSitemap(task.path, task.url);
    case 'feed':
      return readFeed(task.path, task.base, task.contents);
    case 's3':
      return readS3Listing(task.text);
    case 'links':
      return readLinks(task.path, task.url);
    case 'recode':
      await recode(task.path, task.charset);
      return null;
    case 'robots':
      return judgePage(task.robots, task.page);
  }
}
