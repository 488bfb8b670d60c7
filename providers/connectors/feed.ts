import { createHash } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import { parseFeed } from 'feedsmith';
import iconv from 'iconv-lite';
import { type FeedSettings, SourceError } from '../../domain/connectors/connectors.js';
import { conditions, isUnchanged, type Requests, refuseStatus, validatorsOf } from './request.js';
import { onSite } from './sitemap.js';
import type { ListingPage, Source, Validators } from './source.js';

const ACCEPT = 'application/atom+xml, application/rss+xml, application/xml;q=0.9, */*;q=0.8';
const MAX_REDIRECTS = 5;

interface Entry {
  /** `guid` or `id`, else the link. */
  key: string;
  title: string;
  url: string;
  /** HTML. */
  content: string;
}

/** Entries of an RSS or Atom feed. The listing has their content too, so fetching asks for the feed once more at the most. */
export function createFeedSource({ url }: FeedSettings, requests: Requests): Source {
  let read: Promise<Map<string, Entry>> | undefined;

  async function get(validators: Validators, signal: AbortSignal) {
    let from = url;
    for (let redirects = 0; redirects <= MAX_REDIRECTS; redirects++) {
      const answer = await requests.read(from, { Accept: ACCEPT, ...conditions(validators) }, signal);
      if (isUnchanged(answer.status) || answer.status < 300 || answer.status >= 400) {
        refuseStatus(answer.status);
        return answer;
      }
      const to = onSite(answer.headers.location ?? '', from);
      if (to === undefined) throw new SourceError('REDIRECTED', 'The feed leads to another site; name that one.');
      from = to;
    }
    throw new SourceError('REDIRECTED', `The feed leads on more than ${MAX_REDIRECTS} times.`);
  }

  async function entries(signal: AbortSignal): Promise<Map<string, Entry>> {
    return readEntries((await get({}, signal)).body, url);
  }

  return {
    concurrency: 1,

    async list(_cursor, validators, signal): Promise<ListingPage> {
      const answer = await get(validators, signal);
      if (isUnchanged(answer.status)) return { resources: [], next: null, unchanged: true, validators };
      const found = readEntries(answer.body, url);
      read = Promise.resolve(found);
      const resources = [...found.values()].map((entry) => ({ key: entry.key, etag: versionOf(entry) }));
      return { resources, next: null, validators: validatorsOf(answer.headers) };
    },

    async fetch({ key }, path, signal) {
      read ??= entries(signal);
      const entry = (await read).get(key);
      // It has gone from the feed since it was listed.
      if (!entry) throw new SourceError('NOT_FOUND', 'The feed does not list the entry any more.');
      const { title } = entry;
      await writeFile(
        path,
        `<!doctype html><html><head><meta charset="utf-8"><title>${escaped(title)}</title></head><body>${entry.content}</body></html>`,
      );
      return { state: 'content', filename: 'entry.html', title, url: entry.url, etag: versionOf(entry) };
    },
  };
}

/** @throws SourceError INVALID_LISTING */
function readEntries(body: Buffer, base: string): Map<string, Entry> {
  const entries = parse(decode(body)).flatMap(({ key, title, link, content }) => {
    const id = key ?? link;
    if (id === undefined) return [];
    const url = link !== undefined && URL.canParse(link, base) ? new URL(link, base).href : base;
    return [{ key: id.slice(0, 2048), title: plain(title ?? '') || url, url, content: content ?? '' }];
  });
  return new Map(entries.map((entry) => [entry.key, entry]));
}

interface Parsed {
  key?: string | undefined;
  title?: string | undefined;
  link?: string | undefined;
  content?: string | undefined;
}

function parse(text: string): Parsed[] {
  const read = parsed(text);
  if (read.format === 'atom') {
    return (read.feed.entries ?? []).map((entry) => ({
      key: entry.id,
      title: entry.title?.value,
      link: (entry.links?.find(({ rel }) => rel === undefined || rel === 'alternate') ?? entry.links?.[0])?.href,
      content: asHtml(entry.content ?? entry.summary),
    }));
  }
  if (read.format === 'rss') {
    return (read.feed.items ?? []).map((item) => ({
      key: item.guid?.value,
      title: item.title,
      link: item.link,
      content: item.content?.encoded ?? item.description,
    }));
  }
  if (read.format === 'rdf') {
    return (read.feed.items ?? []).map((item) => ({
      key: item.rdf?.about ?? item.link,
      title: item.title,
      link: item.link,
      content: item.content?.encoded ?? item.description,
    }));
  }
  throw invalid();
}

function parsed(text: string) {
  try {
    return parseFeed(text);
  } catch {
    throw invalid();
  }
}

/** What Atom calls text is shown as it stands. */
function asHtml(text: { value?: string; type?: string } | undefined): string | undefined {
  if (text?.value === undefined) return undefined;
  return text.type === undefined || text.type === 'text' ? `<p>${escaped(text.value)}</p>` : text.value;
}

/** By the XML declaration where it names another charset than UTF-8. */
function decode(body: Buffer): string {
  const named = /^<\?xml[^>]*encoding=["']([\w-]+)["']/i.exec(
    body.subarray(0, 200).toString('latin1').trimStart(),
  )?.[1];
  return iconv.decode(body, named && iconv.encodingExists(named) ? named : 'utf-8');
}

function versionOf({ title, url, content }: Entry): string {
  return createHash('sha256')
    .update(JSON.stringify([title, url, content]))
    .digest('hex');
}

const ESCAPES: Record<string, string> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' };
const escaped = (text: string): string => text.replace(/[&<>"]/g, (character) => ESCAPES[character]!);
const plain = (html: string): string => html.replace(/<[^>]*>/g, '').trim();

function invalid(): SourceError {
  return new SourceError('INVALID_LISTING', 'The feed could not be understood; RSS and Atom are.');
}
