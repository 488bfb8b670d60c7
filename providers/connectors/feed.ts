import { createHash } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import { parseFeed } from 'feedsmith';
import iconv from 'iconv-lite';
import { type FeedSettings, SourceError } from '../../domain/connectors/connectors.js';
import { checkStatus, conditions, isUnchanged, type Requests, validatorsOf } from './requests.js';
import { followRedirects } from './same-site.js';
import type { ListingPage, Source, Validators } from './source.js';

const ACCEPT = 'application/atom+xml, application/rss+xml, application/xml;q=0.9, */*;q=0.8';

interface Entry {
  /** `guid` or `id`, else the link. */
  key: string;
  title: string;
  url: string;
  /** HTML. */
  content: string;
}

/** Entries of an RSS or Atom feed. The listing holds their content, so fetching requests the feed at most once more. */
export function createFeedSource({ url }: FeedSettings, requests: Requests): Source {
  let read: Promise<Map<string, Entry>> | undefined;

  async function get(validators: Validators, signal: AbortSignal) {
    const headers = { Accept: ACCEPT, ...conditions(validators) };
    const { response } = await followRedirects(url, (target) => requests.read(target, headers, signal));
    checkStatus(response.status);
    return response;
  }

  return {
    concurrency: 1,

    async list(_cursor, validators, signal): Promise<ListingPage> {
      const response = await get(validators, signal);
      if (isUnchanged(response.status)) return { resources: [], next: null, unchanged: true, validators };
      const entries = readEntries(response.body, url);
      read = Promise.resolve(entries);
      const resources = [...entries.values()].map((entry) => ({ key: entry.key, etag: versionOf(entry) }));
      return { resources, next: null, validators: validatorsOf(response.headers) };
    },

    async fetch({ key }, path, signal) {
      read ??= get({}, signal).then(({ body }) => readEntries(body, url));
      const entry = (await read).get(key);
      // The feed has dropped the entry since it was listed.
      if (!entry) throw new SourceError('NOT_FOUND', 'The feed no longer lists the entry.');
      const { title } = entry;
      await writeFile(
        path,
        `<!doctype html><html><head><meta charset="utf-8"><title>${escapeHtml(title)}</title></head><body>${entry.content}</body></html>`,
      );
      return { state: 'content', filename: 'entry.html', title, url: entry.url, etag: versionOf(entry) };
    },
  };
}

/** @throws SourceError INVALID_LISTING */
function readEntries(body: Buffer, base: string): Map<string, Entry> {
  const entries = parseEntries(decode(body)).flatMap(({ key, title, link, content }) => {
    const id = key ?? link;
    if (id === undefined) return [];
    const url = link !== undefined && URL.canParse(link, base) ? new URL(link, base).href : base;
    return [{ key: id.slice(0, 2048), title: withoutTags(title ?? '') || url, url, content: content ?? '' }];
  });
  return new Map(entries.map((entry) => [entry.key, entry]));
}

interface ParsedEntry {
  key?: string | undefined;
  title?: string | undefined;
  link?: string | undefined;
  content?: string | undefined;
}

function parseEntries(text: string): ParsedEntry[] {
  const { format, feed } = parse(text);
  if (format === 'atom') {
    return (feed.entries ?? []).map((entry) => ({
      key: entry.id,
      title: entry.title?.value,
      link: (entry.links?.find(({ rel }) => rel === undefined || rel === 'alternate') ?? entry.links?.[0])?.href,
      content: asHtml(entry.content ?? entry.summary),
    }));
  }
  if (format === 'rss') {
    return (feed.items ?? []).map((item) => ({
      key: item.guid?.value,
      title: item.title,
      link: item.link,
      content: item.content?.encoded ?? item.description,
    }));
  }
  if (format === 'rdf') {
    return (feed.items ?? []).map((item) => ({
      key: item.rdf?.about ?? item.link,
      title: item.title,
      link: item.link,
      content: item.content?.encoded ?? item.description,
    }));
  }
  throw invalidFeed();
}

function parse(text: string) {
  try {
    return parseFeed(text);
  } catch {
    throw invalidFeed();
  }
}

/** Atom text constructs of type `text` are escaped. */
function asHtml(text: { value?: string; type?: string } | undefined): string | undefined {
  if (text?.value === undefined) return undefined;
  return text.type === undefined || text.type === 'text' ? `<p>${escapeHtml(text.value)}</p>` : text.value;
}

/** Decodes a feed by the charset of its XML declaration, or as UTF-8. */
function decode(body: Buffer): string {
  const declared = /^<\?xml[^>]*encoding=["']([\w-]+)["']/i.exec(
    body.subarray(0, 200).toString('latin1').trimStart(),
  )?.[1];
  return iconv.decode(body, declared && iconv.encodingExists(declared) ? declared : 'utf-8');
}

function versionOf({ title, url, content }: Entry): string {
  return createHash('sha256')
    .update(JSON.stringify([title, url, content]))
    .digest('hex');
}

const ESCAPES: Record<string, string> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' };
const escapeHtml = (text: string): string => text.replace(/[&<>"]/g, (character) => ESCAPES[character]!);
const withoutTags = (html: string): string => html.replace(/<[^<>]*>/g, '').trim();

function invalidFeed(): SourceError {
  return new SourceError('INVALID_LISTING', 'This is not a valid RSS or Atom feed.');
}
