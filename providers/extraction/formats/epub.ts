import { posix } from 'node:path';
import * as cheerio from 'cheerio';
import { type ExtractedSection, type Extraction, ExtractionError } from '../../../domain/extraction.js';
import type { ExtractionLimits } from '../limits.js';
import { checkArchive, readEntries } from './archive.js';
import { readXhtml } from './html.js';

const CONTAINER = 'META-INF/container.xml';
const ENCRYPTION = 'META-INF/encryption.xml';
/** Fonts are often scrambled with these; the text is not. */
const FONT_SCRAMBLING = /idpf\.org\/2008\/embedding|ns\.adobe\.com\/pdf\/enc#RC/;

/**
 * An e-book: its chapters in reading order. The title that the table of contents gives a chapter is a heading of its text.
 * @throws ExtractionError as `checkArchive`, E2001 without a readable list of chapters, E2002 with copy protection
 */
export async function extractEpub(path: string, limits: ExtractionLimits): Promise<Extraction> {
  await checkArchive(path, limits);
  const entries = await readEntries(path, (name) => name.startsWith('META-INF/') || /\.(opf|ncx)$/i.test(name));
  checkProtection(entries.get(ENCRYPTION));
  const book = readBook(entries);
  const wanted = new Set([...book.chapters, ...(book.navigation ? [book.navigation] : [])]);
  const pages = await readEntries(path, (name) => wanted.has(name));
  const titles = book.navigation
    ? navigationTitles(pages.get(book.navigation) ?? '', book.navigation)
    : ncxTitles(entries.get(book.ncx ?? '') ?? '', book.ncx ?? '');
  const sections: ExtractedSection[] = [];
  let chapter: string | undefined;
  for (const name of book.chapters) {
    const page = pages.get(name);
    // The table of contents is part of the reading order of some books.
    if (page === undefined || name === book.navigation) continue;
    chapter = titles.get(name) ?? chapter;
    for (const section of readXhtml(page).sections) sections.push(underChapter(section, chapter));
  }
  return { title: book.title, sections };
}

interface Book {
  title: string | null;
  /** Names of entries. */
  chapters: string[];
  /** Of EPUB 3. */
  navigation: string | undefined;
  /** Of EPUB 2. */
  ncx: string | undefined;
}

function readBook(entries: ReadonlyMap<string, string>): Book {
  const container = cheerio.load(entries.get(CONTAINER) ?? '', { xml: true });
  const packageName = container('rootfile').first().attr('full-path') ?? '';
  const xml = entries.get(packageName);
  if (xml === undefined) throw new ExtractionError('E2001', 'It has no list of its chapters.');
  const $ = cheerio.load(xml, { xml: true });
  const manifest = $('manifest > item, opf\\:manifest > opf\\:item').toArray();
  const nameOf = (node: (typeof manifest)[number]) => resolve(packageName, $(node).attr('href') ?? '');
  const byId = new Map(manifest.map((node) => [$(node).attr('id') ?? '', nameOf(node)]));
  const find = (matches: (node: (typeof manifest)[number]) => boolean) => {
    const node = manifest.find(matches);
    return node && nameOf(node);
  };
  const chapters = $('spine > itemref, opf\\:spine > opf\\:itemref')
    .toArray()
    .flatMap((node) => byId.get($(node).attr('idref') ?? '') ?? []);
  return {
    title: $('dc\\:title').first().text().replace(/\s+/g, ' ').trim() || null,
    chapters: [...new Set(chapters)],
    navigation: find((node) => ($(node).attr('properties') ?? '').split(/\s+/).includes('nav')),
    ncx: find((node) => $(node).attr('media-type') === 'application/x-dtbncx+xml'),
  };
}

/** The first title for each entry. */
function navigationTitles(xhtml: string, name: string): Map<string, string> {
  const $ = cheerio.load(xhtml, { xml: { xmlMode: false, recognizeSelfClosing: true } });
  const table = $('nav[epub\\:type="toc"]');
  const links = (table.length > 0 ? table : $('nav').first()).find('a[href]').toArray();
  return firstTitles(links.map((link) => [resolve(name, $(link).attr('href') ?? ''), $(link).text()]));
}

function ncxTitles(xml: string, name: string): Map<string, string> {
  const $ = cheerio.load(xml, { xml: true });
  const points = $('navPoint').toArray();
  return firstTitles(
    points.map((point) => [
      resolve(name, $(point).children('content').attr('src') ?? ''),
      $(point).children('navLabel').text(),
    ]),
  );
}

function firstTitles(found: [name: string, title: string][]): Map<string, string> {
  const titles = new Map<string, string>();
  for (const [name, text] of found) {
    const title = text.replace(/\s+/g, ' ').trim();
    if (title !== '' && !titles.has(name)) titles.set(name, title);
  }
  return titles;
}

function underChapter(section: ExtractedSection, chapter: string | undefined): ExtractedSection {
  if (chapter === undefined || section.headings.includes(chapter)) return section;
  return { ...section, headings: [chapter, ...section.headings] };
}

/** The name of the entry that a link in another entry points to. */
function resolve(from: string, href: string): string {
  const [path = ''] = href.split('#');
  let decoded = path;
  try {
    decoded = decodeURIComponent(path);
  } catch {
    // A stray percent sign is part of the name.
  }
  return posix.join(posix.dirname(from), decoded);
}

function checkProtection(xml = ''): void {
  const $ = cheerio.load(xml, { xml: true });
  const methods = $('*')
    .toArray()
    .flatMap((node) =>
      /(^|:)EncryptionMethod$/i.test($(node).prop('tagName') ?? '') ? [$(node).attr('Algorithm') ?? ''] : [],
    );
  if (methods.some((method) => !FONT_SCRAMBLING.test(method)))
    throw new ExtractionError('E2002', 'It has copy protection.');
}
