import { createHash } from 'node:crypto';
import { open } from 'node:fs/promises';
import { parseFeed } from 'feedsmith';
import iconv from 'iconv-lite';
import { SourceError } from '../../../domain/connectors/connectors.js';
import { readListing } from './listing.js';
import { readXml } from './xml.js';

export interface FeedEntry {
  /** `guid` or `id`, else the link. */
  key: string;
  title: string;
  url: string;
  /** SHA-256 of title, address and content. */
  etag: string;
  /** Where its page is in the file of contents, in bytes. */
  start: number;
  end: number;
}

const MAX_ENTRIES = 10_000;
const MAX_TITLE = 500;
const MAX_URL = 2_048;

interface FeedFile {
  path: string;
  /** Its address. */
  base: string;
  /** File to which the content of each entry is written as an HTML page; null: nothing is written. */
  contents: string | null;
}

/**
 * Reads the entries of an RSS, RDF or Atom feed.
 * @throws SourceError INVALID_LISTING, TOO_LARGE
 */
export async function readFeed({ path, base, contents }: FeedFile): Promise<FeedEntry[]> {
  const pieces: Buffer[] = [];
  for await (const piece of readListing(path)) pieces.push(piece);
  const text = decode(Buffer.concat(pieces));
  // The parser builds the whole tree, so its size is checked before.
  await readXml([text], () => undefined);
  const parsed = parseEntries(text);
  if (parsed.length > MAX_ENTRIES) throw new SourceError('TOO_LARGE', `The feed has more than ${MAX_ENTRIES} entries.`);
  const entries = new Map<string, FeedEntry>();
  const file = contents === null ? null : await open(contents, 'w');
  let position = 0;
  try {
    for (const { key = '', title = '', link = '', content = '' } of parsed) {
      const id = (key || link).slice(0, MAX_URL);
      if (id === '') continue;
      const url = link !== '' && link.length <= MAX_URL && URL.canParse(link, base) ? new URL(link, base).href : base;
      const named = withoutTags(title.slice(0, 4 * MAX_TITLE)).slice(0, MAX_TITLE) || url;
      const etag = createHash('sha256')
        .update(JSON.stringify([named, url, content]))
        .digest('hex');
      const start = position;
      if (file) {
        const page = Buffer.from(
          `<!doctype html><html><head><meta charset="utf-8"><title>${escapeHtml(named)}</title></head><body>${content}</body></html>`,
        );
        await file.write(page);
        position += page.length;
      }
      entries.set(id, { key: id, title: named, url, etag, start, end: position });
    }
  } finally {
    await file?.close();
  }
  return [...entries.values()];
}

type ParsedEntry = Partial<Record<'key' | 'title' | 'link' | 'content', string | undefined>>;

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

const ESCAPES: Record<string, string> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' };
const escapeHtml = (text: string): string => text.replace(/[&<>"]/g, (character) => ESCAPES[character]!);
const withoutTags = (html: string): string => html.replace(/<[^<>]*>/g, '').trim();

function invalidFeed(): SourceError {
  return new SourceError('INVALID_LISTING', 'This is not a valid RSS or Atom feed.');
}
