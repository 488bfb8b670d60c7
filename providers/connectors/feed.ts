import { createReadStream, createWriteStream } from 'node:fs';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { type FeedSettings, SourceError, type Validators } from '../../domain/connectors/connectors.js';
import type { FeedEntry } from './parsing/feed.js';
import { MAX_LISTING_BYTES } from './parsing/listing.js';
import { checkStatus, conditions, isUnchanged, validatorsOf } from './requests.js';
import { followRedirects } from './same-site.js';
import type { ListingPage, Source, SourceTools } from './source.js';

const ACCEPT = 'application/atom+xml, application/rss+xml, application/xml;q=0.9, */*;q=0.8';

/** Entries of an RSS or Atom feed. The listing holds their content, so fetching requests the feed at most once more. */
export function createFeedSource({ url }: FeedSettings, { requests, parser, folder }: SourceTools): Source {
  const listing = join(folder, 'feed');
  /** The pages of all entries, one after the other. */
  const contents = join(folder, 'feed-contents');
  let read: Promise<Map<string, FeedEntry>> | undefined;

  async function download(validators: Validators, signal: AbortSignal) {
    const headers = { Accept: ACCEPT, ...conditions(validators) };
    const { response } = await followRedirects(url, (target) =>
      requests.download(target, headers, listing, signal, MAX_LISTING_BYTES),
    );
    checkStatus(response.status);
    return response;
  }

  async function readContents(signal: AbortSignal): Promise<Map<string, FeedEntry>> {
    await download({}, signal);
    const entries = await parser.parse('feed', { path: listing, base: url, contents }, signal);
    return new Map(entries.map((entry) => [entry.key, entry]));
  }

  return {
    concurrency: 1,

    async list(_cursor, validators, signal): Promise<ListingPage> {
      const response = await download(validators, signal);
      if (isUnchanged(response.status)) return { resources: [], next: null, unchanged: true, validators };
      const entries = await parser.parse('feed', { path: listing, base: url, contents: null }, signal);
      const resources = entries.map(({ key, etag }) => ({ key, etag }));
      return { resources, next: null, validators: validatorsOf(response.headers) };
    },

    async fetch({ key }, path, signal) {
      read ??= readContents(signal);
      const entry = (await read).get(key);
      // The feed has dropped the entry since it was listed.
      if (!entry) throw new SourceError('NOT_FOUND', 'The feed no longer lists the entry.');
      const { title, etag, start, end } = entry;
      await pipeline(createReadStream(contents, { start, end: end - 1 }), createWriteStream(path));
      return { state: 'content', filename: 'entry.html', title, url: entry.url, etag };
    },
  };
}
