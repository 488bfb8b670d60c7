import { readFile } from 'node:fs/promises';
import { posix } from 'node:path';
import * as cheerio from 'cheerio';
import { type CellMetadata, type ListMetadata, type OfficeContentNode, OfficeParser } from 'officeparser';
import { type Extraction, ExtractionError, type FileKind } from '../../../domain/extraction.js';
import type { ExtractionLimits } from '../limits.js';
import type { Grid, Span } from '../tables/layout.js';
import { tableSections } from '../tables/sections.js';
import { checkArchive, readEntries, relationshipTargets } from './archive.js';
import { HeadingSections } from './headings.js';
import { inUnicode } from './rtf.js';

type OfficeKind = Extract<FileKind, 'docx' | 'pptx' | 'odt' | 'odp' | 'rtf'>;

const CODE_STYLE = /code|preformatted|verbatim|listing/i;
const MONOSPACED = /courier|consolas|menlo|monaco|lucida console|mono\b/i;

/**
 * Text documents (DOCX, ODT, RTF) by heading, presentations (PPTX, ODP) by slide.
 * @throws ExtractionError as `checkArchive`, and E2001 when the content cannot be parsed
 */
export async function extractOffice(path: string, kind: OfficeKind, limits: ExtractionLimits): Promise<Extraction> {
  if (kind !== 'rtf') await checkArchive(path, limits);
  const ast = await OfficeParser.parseOffice(await fileOf(path, kind), {
    fileType: kind,
    ignoreSlideMasters: true,
    ignoreHeadersAndFooters: true,
    decompressionLimits: { maxUncompressedBytes: limits.maxInflatedBytes, maxZipEntries: limits.maxEntries },
  }).catch(() => {
    // The library's messages can quote the file.
    throw new ExtractionError('E2001');
  });
  const title = ast.metadata.title?.trim() || null;
  const order = kind === 'pptx' ? await slideOrder(path) : undefined;
  return { title, sections: sectionsOf(ast.content, order) };
}

/** The file in a form that the library reads completely. */
async function fileOf(path: string, kind: OfficeKind): Promise<Buffer> {
  if (kind === 'docx') return (await import('./docx.js')).readPlainDocx(path);
  if (kind === 'odt' || kind === 'odp') return (await import('./odf.js')).readPlainOdf(path);
  const file = await readFile(path);
  return kind === 'rtf' ? inUnicode(file) : file;
}

function sectionsOf(content: OfficeContentNode[], order?: SlideOrder): Extraction['sections'] {
  const slides = content.filter((node) => node.type === 'slide');
  return slides.length > 0 ? slideSections(slides, order) : documentSections(content);
}

function documentSections(content: OfficeContentNode[]): Extraction['sections'] {
  const sections = new HeadingSections();
  const isCode = codeTest(content);
  let code: string[] = [];
  for (const [at, node] of content.entries()) {
    if (isCode(node)) {
      code.push(textOf(node));
      if (at + 1 < content.length && isCode(content[at + 1]!)) continue;
      sections.code(code.join('\n'));
      code = [];
    } else if (node.type === 'list') {
      const { listType, indentation = 0, itemIndex = 0 } = metadata(node) as Partial<ListMetadata>;
      sections.item(indentation + 1, listType === 'ordered' ? itemIndex + 1 : null);
      sections.paragraph(textOf(node));
    } else {
      sections.endList();
      if (node.type === 'heading') sections.heading(Number(metadata(node).level ?? 1), textOf(node));
      else if (node.type === 'table') sections.table(gridOf(node));
      else sections.paragraph(blockText(node));
    }
    for (const note of notesOf(node)) sections.paragraph(textOf(note));
  }
  sections.endList();
  return sections.finish();
}

/**
 * @returns a function that tells whether a node is code: by the name of its style, or when all of it is in a font of equal
 * widths, unless most of the document is in such a font
 */
function codeTest(content: OfficeContentNode[]): (node: OfficeContentNode) => boolean {
  const paragraphs = content.filter((node) => node.type === 'paragraph' && textOf(node).trim() !== '');
  const typewritten = paragraphs.filter(isMonospaced).length > paragraphs.length / 2;
  return (node) => {
    if (node.type !== 'paragraph' || textOf(node).trim() === '') return node.type === 'code';
    return CODE_STYLE.test(String(metadata(node).style ?? '')) || (!typewritten && isMonospaced(node));
  };
}

function isMonospaced({ children = [] }: OfficeContentNode): boolean {
  const texts = children.filter(({ text = '' }) => text.trim() !== '');
  return texts.length > 0 && texts.every(({ formatting }) => MONOSPACED.test(formatting?.font ?? ''));
}

/** One section per slide. Its title is the heading, and the speaker notes follow its text. */
function slideSections(slides: OfficeContentNode[], order?: SlideOrder): Extraction['sections'] {
  // The library numbers slides and notes by file name, which is not their position in the presentation.
  const notesOf = new Map<number, string>();
  for (const slide of slides)
    for (const note of slide.notes ?? []) {
      const file = numberOf(note) ?? numberOf(slide) ?? 0;
      const target = order ? (order.notes.get(file) ?? file) : file;
      notesOf.set(target, (note.children ?? []).map(blockText).filter(Boolean).join('\n'));
    }
  return slides
    .map((slide, index) => {
      const file = numberOf(slide) ?? index + 1;
      const heading = slide.children?.find((node) => node.type === 'heading');
      const texts = (slide.children ?? []).map(blockText).filter(Boolean);
      const notes = notesOf.get(file);
      const text = [...texts, ...(notes ? [`Notes: ${notes}`] : [])].join('\n');
      const number = order ? (order.pages.get(file) ?? file) : index + 1;
      const title = heading ? textOf(heading).replace(/\s+/g, ' ').trim() : '';
      return { text, slide: number, ...(title === '' ? { headings: [] } : { headings: [title], slide_title: title }) };
    })
    .filter((section) => section.text !== '')
    .sort((a, b) => a.slide - b.slide);
}

/** The text of a node; a table has a line per row. */
function blockText(node: OfficeContentNode): string {
  if (node.type !== 'table') return textOf(node).trim();
  return tableSections(gridOf(node))
    .map(({ headings, text }) => [...headings, text].join('\n'))
    .join('\n');
}

function gridOf(table: OfficeContentNode): Grid {
  const rows: string[][] = [];
  const spans: Span[] = [];
  for (const node of (table.children ?? []).filter(({ type }) => type === 'row')) {
    const cells: string[] = [];
    let row = rows.length;
    for (const cell of node.children ?? []) {
      const { row: stated, col = cells.length, rowSpan = 1, colSpan = 1 } = metadata(cell) as Partial<CellMetadata>;
      row = stated ?? row;
      cells[col] = textOf(cell);
      if (rowSpan > 1 || colSpan > 1)
        spans.push({ top: row, left: col, bottom: row + rowSpan - 1, right: col + colSpan - 1 });
    }
    rows[row] = Array.from(cells, (cell) => cell ?? '');
  }
  return { rows: Array.from(rows, (row) => row ?? []), spans };
}

/** Footnotes and endnotes, which stand below the paragraph that refers to them. */
function notesOf({ notes = [], children = [] }: OfficeContentNode): OfficeContentNode[] {
  return [...notes, ...children.flatMap(notesOf)];
}

/** Some parents repeat their children's text, so the text of a parent is used only when it has no children. */
function textOf(node: OfficeContentNode): string {
  if (node.type === 'image' || node.type === 'chart' || node.type === 'comment') return '';
  if (!node.children?.length) return node.text ?? '';
  const inline = node.children.every((child) => child.type === 'text' || child.type === 'break');
  return node.children.map(textOf).join(inline ? '' : '\n');
}

const numberOf = (node: OfficeContentNode) => metadata(node).slideNumber as number | undefined;
const metadata = (node: OfficeContentNode) => (node.metadata ?? {}) as Record<string, unknown>;

interface SlideOrder {
  /** Position in the presentation (from 1), by the number in the slide's file name. */
  pages: Map<number, number>;
  /** Number in the slide's file name, by the number in the file name of its notes. */
  notes: Map<number, number>;
}

const PRESENTATION = 'ppt/presentation.xml';
const PRESENTATION_RELATIONS = 'ppt/_rels/presentation.xml.rels';

/** Reads the order of the slides of a PPTX, and the slide of each notes page, from its relationships. */
async function slideOrder(path: string): Promise<SlideOrder> {
  const entries = await readEntries(
    path,
    (name) =>
      name === PRESENTATION ||
      name === PRESENTATION_RELATIONS ||
      /^ppt\/slides\/_rels\/slide\d+\.xml\.rels$/.test(name),
  );
  const order: SlideOrder = { pages: new Map(), notes: new Map() };
  const targets = relationshipTargets(entries.get(PRESENTATION_RELATIONS));
  const presentation = cheerio.load(entries.get(PRESENTATION) ?? '', { xml: true });
  presentation('p\\:sldIdLst > p\\:sldId').each((index, slide) => {
    const file = fileNumber(targets.get(presentation(slide).attr('r:id') ?? ''));
    if (file !== null) order.pages.set(file, index + 1);
  });
  for (const [name, xml] of entries) {
    if (!name.startsWith('ppt/slides/')) continue;
    for (const target of relationshipTargets(xml).values()) {
      const note = target.includes('notesSlide') ? fileNumber(target) : null;
      if (note !== null) order.notes.set(note, fileNumber(name.replace(/\.rels$/, ''))!);
    }
  }
  return order;
}

function fileNumber(target = ''): number | null {
  const digits = /(?<!\d)(\d+)\.xml$/.exec(posix.basename(target))?.[1];
  return digits ? Number(digits) : null;
}
