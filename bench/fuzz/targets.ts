import { once } from 'node:events';
import { cpSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { readMultipart } from '../../api/multipart.js';
import { SourceError } from '../../domain/connectors/connectors.js';
import { chunkSections } from '../../domain/content/chunking.js';
import { ServiceError } from '../../domain/errors.js';
import { ExtractionError } from '../../domain/extraction.js';
import { createForeignParser } from '../../providers/connectors/parsing/index.js';
import type { ParseInput, ParseKind } from '../../providers/connectors/parsing/worker.js';
import { loadCrews } from '../../providers/crews/load-crews.js';
import { detectFileKind } from '../../providers/extraction/index.js';
import { READ } from '../../test/fixtures/file-set.js';
import { startExtractor } from '../../test/support/extractor.js';

export interface Sample {
  name: string;
  bytes: Buffer;
}

/** Something that reads foreign bytes. */
export interface Target {
  samples: Sample[];
  /** Reads the bytes. @throws Error for a crash, a stall, or an error that is not one of the documented ones */
  read(bytes: Buffer, sample: string): Promise<void>;
  close(): Promise<void>;
}

const HEAD_BYTES = 64 * 1024;
/** Reading takes milliseconds; a slow machine is not a stall. */
const STALL_MS = 60_000;

/** Pictures and scanned pages take OCR, and the handbook has 800 kB of styles. */
const SLOW = /scan|mixed|picture|handbook|covers/i;

/**
 * Every kind of file, as ingestion reads it.
 * @param slow also files that take a second each
 */
export async function files({ slow }: { slow: boolean }): Promise<Target> {
  const folder = mkdtempSync(join(tmpdir(), 'postback-fuzz-files-'));
  const extractor = startExtractor({ timeoutMs: STALL_MS, ocrPageTimeoutMs: STALL_MS });
  const chosen = READ.filter(({ name, kind }) => slow || (kind !== 'image' && !SLOW.test(name)));
  const samples = await Promise.all(
    chosen.map(async ({ name, file }) => ({ name: name.split(':')[0]!, bytes: await file() })),
  );
  return {
    samples,
    async read(bytes, filename) {
      const openStream = () => Readable.from([bytes]);
      const path = join(folder, 'file');
      try {
        const { kind } = await detectFileKind(bytes.subarray(0, HEAD_BYTES), { filename, openStream });
        await writeFile(path, bytes);
        if (!slow && kind === 'image') return;
        // Reads all chunks.
        for (const _ of chunkSections(await extractor.extract({ path, kind })));
      } catch (error) {
        if (!(error instanceof ExtractionError) || error.message.includes('too much time')) throw error;
      }
    },
    async close() {
      await extractor.close();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

const SITE = 'https://site.example/';
const LISTINGS: { kind: ParseKind; text: string }[] = [
  {
    kind: 'sitemap',
    text: `<?xml version="1.0"?><urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9"><url><loc>${SITE}one</loc><lastmod>2026-05-01</lastmod></url><url><loc>${SITE}two</loc></url></urlset>`,
  },
  {
    kind: 'sitemap',
    text: `<sitemapindex><sitemap><loc>${SITE}first.xml</loc></sitemap><sitemap><loc>${SITE}second.xml</loc></sitemap></sitemapindex>`,
  },
  {
    kind: 'feed',
    text: `<?xml version="1.0"?><rss version="2.0" xmlns:content="http://purl.org/rss/1.0/modules/content/"><channel><title>News</title><link>${SITE}</link><item><title>One &amp; two</title><link>${SITE}1</link><guid>1</guid><pubDate>Mon, 02 Mar 2026 10:00:00 GMT</pubDate><content:encoded><![CDATA[<p>Text</p>]]></content:encoded></item></channel></rss>`,
  },
  {
    kind: 'feed',
    text: `<feed xmlns="http://www.w3.org/2005/Atom"><title>Log</title><entry><id>urn:1</id><title type="html">A</title><link rel="alternate" href="/a"/><updated>2026-03-02T10:00:00Z</updated><content type="xhtml"><div>b</div></content></entry></feed>`,
  },
  {
    kind: 's3',
    text: `<ListBucketResult><Name>b</Name><IsTruncated>true</IsTruncated><NextContinuationToken>t</NextContinuationToken><Contents><Key>a%20b.txt</Key><LastModified>2026-03-02T10:00:00.000Z</LastModified><ETag>"x"</ETag><Size>12</Size></Contents></ListBucketResult>`,
  },
  {
    kind: 'links',
    text: `<html><head><base href="/docs/"><meta name="robots" content="nofollow"></head><body><a href="one?x=1#y">One</a><a href='//other.example'>Two</a><area href=three></body></html>`,
  },
  {
    kind: 'robots',
    text: 'User-agent: *\nDisallow: /private/*.html$\nAllow: /\nCrawl-delay: 2\nSitemap: /sitemap.xml\n',
  },
];

/** What connectors fetch: sitemaps, feeds, listings of buckets, pages and robots.txt. */
export function listings(): Target {
  const folder = mkdtempSync(join(tmpdir(), 'postback-fuzz-listings-'));
  const parser = createForeignParser({ timeoutMs: STALL_MS });
  const path = join(folder, 'listing');
  return {
    samples: LISTINGS.map(({ kind, text }) => ({ name: kind, bytes: Buffer.from(text) })),
    async read(bytes, kind) {
      writeFileSync(path, bytes);
      const text = bytes.toString();
      const inputs: { [Kind in ParseKind]: ParseInput<Kind> } = {
        sitemap: { path, url: `${SITE}sitemap.xml` },
        feed: { path, base: SITE, contents: null },
        s3: { text },
        links: { path, url: SITE },
        recode: { path, charset: 'latin1' },
        robots: { robots: text, page: `${SITE}private/page.html` },
      };
      try {
        await parser.parse(kind as ParseKind, inputs[kind as ParseKind], new AbortController().signal);
      } catch (error) {
        if (!(error instanceof SourceError) || /too much time|ends the process/.test(error.message)) throw error;
      }
    },
    async close() {
      await parser.close();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** The files of crews. A crew with mistakes is reported with the names of its files, and harms no other. */
export function crews(): Target {
  const folder = mkdtempSync(join(tmpdir(), 'postback-fuzz-crews-'));
  const root = join('test', 'fixtures', 'crews');
  const samples = readdirSync(root).flatMap((crew) =>
    readdirSync(join(root, crew)).map((file) => ({
      name: join(crew, file),
      bytes: readFileSync(join(root, crew, file)),
    })),
  );
  return {
    samples,
    async read(bytes, name) {
      const [crew, file] = name.split('/') as [string, string];
      rmSync(folder, { recursive: true, force: true });
      mkdirSync(folder);
      cpSync(join(root, crew), join(folder, 'changed'), { recursive: true });
      cpSync(join('crews', 'support-reply'), join(folder, 'other'), { recursive: true });
      writeFileSync(join(folder, 'changed', file), bytes);
      const loaded = loadCrews(folder);
      if (!loaded.crews.has('other')) throw new Error('a mistake in one crew affects another');
      const problems = loaded.invalid.get('changed')?.problems;
      if (!problems) return;
      const nameless = problems.filter((problem) => !problem.includes('.yaml'));
      if (problems.length === 0 || nameless.length > 0) throw new Error(`no file is named: ${nameless.join(' / ')}`);
    },
    close: async () => rmSync(folder, { recursive: true, force: true }),
  };
}

const BOUNDARY = 'boundary';
const FORM = [
  '--boundary\r\nContent-Disposition: form-data; name="database"\r\n\r\nlibrary\r\n',
  '--boundary\r\nContent-Disposition: form-data; name="memories"\r\nContent-Type: application/json\r\n\r\n[{"text":"a"}]\r\n',
  '--boundary\r\nContent-Disposition: form-data; name="documents"; filename="a.txt"\r\nContent-Type: text/plain\r\n\r\nText.\r\n',
  '--boundary\r\nContent-Disposition: form-data; name="documents"; filename*=UTF-8\'\'%e2%82%ac.txt\r\n\r\nMore.\r\n',
  '--boundary--\r\n',
].join('');
const LIMITS = { maxFiles: 20, maxFileBytes: 1_000_000, maxRequestBytes: 3_000_000, maxFieldBytes: 1_000_000 };

/** Multipart requests, over HTTP. */
export async function forms(): Promise<Target> {
  const server = createServer((request, response) => {
    const store = async (file: Readable) => {
      let size = 0;
      for await (const part of file as AsyncIterable<Buffer>) size += part.length;
      return size;
    };
    const known = new Map([
      ['database', 'short'],
      ['memories', 'long'],
    ] as const);
    readMultipart(request, LIMITS, known, store).then(
      () => response.end(),
      (error) => response.writeHead(error instanceof ServiceError ? 400 : 500).end(String(error?.stack ?? error)),
    );
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return {
    samples: [{ name: 'form', bytes: Buffer.from(FORM) }],
    async read(bytes) {
      const headers = { 'content-type': `multipart/form-data; boundary=${BOUNDARY}` };
      const body = new Uint8Array(bytes);
      const response = await fetch(url, { method: 'POST', headers, body, signal: AbortSignal.timeout(STALL_MS) });
      const text = await response.text();
      if (response.status === 500) throw new Error(text);
    },
    async close() {
      server.closeAllConnections();
      server.close();
    },
  };
}
