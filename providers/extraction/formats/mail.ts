import { randomUUID } from 'node:crypto';
import { readFile, rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { Readable } from 'node:stream';
import {
  type ExtractedSection,
  type Extraction,
  ExtractionError,
  type FileKind,
  HEAD_BYTES,
  type ItemErrorCode,
} from '../../../domain/extraction.js';
import { detectFileKind } from '../detect-kind.js';
import type { ExtractionLimits } from '../limits.js';
import { cleanText, countLetters } from '../plain-text.js';
import { readHtml } from './html.js';

/** An e-mail as its parser read it. */
export interface Mail {
  subject: string | undefined;
  /** Header names with their values, in the order in which they are shown. */
  headers: [name: string, value: string | undefined][];
  text: string | undefined;
  html: string | undefined;
  attachments: {
    name: string | null | undefined;
    /** Of an e-mail, which may have no name. */
    extension?: string | undefined;
    content: Uint8Array;
  }[];
}

/** Parses an attachment. @throws ExtractionError when the file is at fault, or is nested too deeply */
export type ParseAttachment = (file: {
  path: string;
  kind: FileKind;
  limits: ExtractionLimits;
}) => Promise<Extraction & { scans?: readonly unknown[] }>;

const MAX_ATTACHMENTS = 1_000;
/** A text part with a smaller share of the letters of the HTML part only says that there is an HTML part. */
const TEXT_SHARE = 0.5;

/** Why an attachment is not read. */
const REASONS: Partial<Record<ItemErrorCode, string>> = {
  E1002: 'format not supported',
  E2001: 'empty or damaged',
  E2002: 'encrypted',
  E2003: 'over a limit',
  E2004: 'no text',
};

/**
 * The text of an e-mail in the format of the internet or of Outlook, or of each in a mailbox: headers, body, and the text of its attachments. Attachments that have no text, or need OCR, are
 * listed with the reason.
 * @param path of the e-mail; attachments are written beside it while they are parsed
 * @throws ExtractionError E2001 damaged, E2003 with too many attachments, or parts or HTML that are nested too deeply
 */
export async function extractMail(
  path: string,
  kind: 'eml' | 'msg',
  limits: ExtractionLimits,
  parse: ParseAttachment,
): Promise<Extraction> {
  const file = await readFile(path);
  const mails =
    kind === 'eml' ? await (await import('./eml.js')).readMailbox(file) : [(await import('./msg.js')).readMsg(file)];
  const attachments = mails.reduce((sum, mail) => sum + mail.attachments.length, 0);
  if (attachments > MAX_ATTACHMENTS) {
    const detail = `It has ${attachments} attachments; at most ${MAX_ATTACHMENTS} are allowed.`;
    throw new ExtractionError('E2003', detail);
  }
  const sections: ExtractedSection[] = [];
  for (const mail of mails) sections.push(...(await mailSections(mail, path, limits, parse)));
  return { title: mails.length === 1 ? lineOf(mails[0]!.subject) || null : null, sections };
}

async function mailSections(
  mail: Mail,
  path: string,
  limits: ExtractionLimits,
  parse: ParseAttachment,
): Promise<ExtractedSection[]> {
  const sections = underHeaders(mail, bodySections(mail));
  const unread: string[] = [];
  for (const [index, { name: stated, extension = '', content }] of mail.attachments.entries()) {
    const name = lineOf(stated).slice(0, 200) || `attachment-${index + 1}${extension}`;
    const read = await readAttachment(name, content, path, limits, parse);
    sections.push(...read.sections.map((section) => inAttachment(section, name)));
    if (read.missing) unread.push(`${name} (${read.missing})`);
  }
  if (unread.length > 0) sections.push({ text: `Attachments that were not read: ${unread.join(', ')}`, headings: [] });
  return sections;
}

/** Headers and body are one section, except for a body that starts with a heading or a table. */
function underHeaders({ headers }: Mail, body: ExtractedSection[]): ExtractedSection[] {
  const lines = headers.map(([name, value]) => [name, lineOf(value)]).filter(([, value]) => value !== '');
  const text = lines.map((line) => line.join(': ')).join('\n');
  const [first, ...rest] = body;
  if (first && first.headings.length === 0 && !first.rows)
    return [{ text: `${text}\n${first.text}`, headings: [] }, ...rest];
  return [{ text, headings: [] }, ...body];
}

function bodySections({ text = '', html }: Mail): ExtractedSection[] {
  const plain: ExtractedSection = { text: cleanText(text).trim(), headings: [] };
  const page = html === undefined ? [] : readHtml(html).sections;
  const letters = page.reduce((sum, section) => sum + countLetters(section.text), 0);
  return countLetters(plain.text) >= letters * TEXT_SHARE ? [plain] : page;
}

/** @returns its text, and why it is missing or not complete */
async function readAttachment(
  name: string,
  content: Uint8Array,
  path: string,
  limits: ExtractionLimits,
  parse: ParseAttachment,
): Promise<{ sections: ExtractedSection[]; missing?: string }> {
  const bytes = Buffer.from(content.buffer, content.byteOffset, content.byteLength);
  const copy = join(dirname(path), `attachment-${randomUUID()}`);
  try {
    const openStream = () => Readable.from([bytes]);
    const { kind } = await detectFileKind(bytes.subarray(0, HEAD_BYTES), { filename: name, openStream });
    if (kind === 'image') return { sections: [], missing: 'picture' };
    await writeFile(copy, bytes);
    const { sections, scans = [] } = await parse({ path: copy, kind, limits });
    if (scans.length > 0) return { sections, missing: `${scans.length} scanned pages` };
    return sections.length > 0 ? { sections } : { sections, missing: 'no text' };
  } catch (error) {
    if (!(error instanceof ExtractionError)) throw error;
    return { sections: [], missing: REASONS[error.code] ?? 'cannot be read' };
  } finally {
    await rm(copy, { force: true });
  }
}

function inAttachment(section: ExtractedSection, name: string): ExtractedSection {
  return { ...section, attachment: section.attachment === undefined ? name : `${name} > ${section.attachment}` };
}

/** Header values and file names come from the sender. */
const MAX_LINE = 1_000;
const lineOf = (value: string | null = '') =>
  cleanText(value ?? '')
    .replace(/\s+/g, ' ')
    .trim()
    .slice(0, MAX_LINE);
