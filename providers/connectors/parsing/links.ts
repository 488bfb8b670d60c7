import { createReadStream } from 'node:fs';
import { readFile, writeFile } from 'node:fs/promises';
import { Parser } from 'htmlparser2';
import iconv from 'iconv-lite';
import { sameSiteUrl } from '../same-site.js';

const MAX_LINKS = 1_000;
/** References looked at, with those to other sites. */
const MAX_REFERENCES = 20_000;
const MAX_URL = 2_048;

/** @returns the links of a page in UTF-8 to its own site, without fragments and those marked `nofollow` */
export async function readLinks({ path, url }: { path: string; url: string }): Promise<string[]> {
  const references: string[] = [];
  let base: string | undefined;
  const parser = new Parser({
    onopentag(name, { href, rel }) {
      if (href === undefined || href.length > MAX_URL) return;
      if (name === 'base') base ??= href;
      if (name !== 'a' || references.length === MAX_REFERENCES) return;
      if (!rel?.slice(0, MAX_URL).toLowerCase().split(/\s+/).includes('nofollow')) references.push(href);
    },
  });
  for await (const piece of createReadStream(path, 'utf8')) parser.write(piece);
  parser.end();
  const from = base !== undefined && URL.canParse(base, url) ? new URL(base, url).href : url;
  const links = new Set<string>();
  for (const reference of references) {
    if (links.size === MAX_LINKS) break;
    if (!URL.canParse(reference, from)) continue;
    const link = sameSiteUrl(new URL(reference, from).href, url);
    if (link !== undefined && link.length <= MAX_URL) links.add(link);
  }
  return [...links];
}

/** Converts a text file to UTF-8 with a byte order mark. */
export async function recode({ path, charset }: { path: string; charset: string }): Promise<void> {
  await writeFile(path, iconv.encode(iconv.decode(await readFile(path), charset), 'utf-8', { addBOM: true }));
}
