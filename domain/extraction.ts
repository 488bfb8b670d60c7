/** Detection, result and errors of extraction, shared by parsers, activities and the ingest endpoint. */
import type { Readable } from 'node:stream';
import type { TextRange } from './text-ranges.js';

/** Location of a section in its document. Only the fields that apply are set. */
export interface SectionLocation {
  /** 1-based page of a PDF, or frame of an image. */
  page?: number;
  /** The page label of a PDF ("iv"), when it differs from the number. */
  page_label?: string;
  /** 1-based slide of a presentation. */
  slide?: number;
  slide_title?: string;
  /** Sheet of a workbook. */
  sheet?: string;
  /** Attachment of an e-mail, by its file name; `a.eml > b.pdf` for an attachment of an attached e-mail. */
  attachment?: string;
}

/** Text that belongs together: a page, a slide, a table, or the text under a heading. */
export interface ExtractedSection extends SectionLocation {
  text: string;
  /** Headings above the text, outermost first. */
  headings: string[];
  /** The parts of the text that are code, in order. */
  code?: TextRange[];
  /** For a table: the spreadsheet row (from 1) of each line of `text`. */
  rows?: number[];
}

export interface Extraction {
  /** The document's own title, or null. */
  title: string | null;
  sections: ExtractedSection[];
}

/** Error codes of items, not of requests (specification, "Ingestion error codes"). */
export const ITEM_ERRORS = {
  E1002:
    'The file format is not supported. Accepted: PDF, Office documents, e-mails, EPUB, images, SVG, CSV, HTML, Markdown, JSON and text.',
  E2001: 'The file is damaged or cannot be read.',
  E2002: 'The file is encrypted. Remove the password and ingest it again.',
  E2003: 'The file is over a processing limit.',
  E2004: 'No text was found in the item.',
  E2005: 'The item was deleted while it was being processed.',
  E3001: 'Embeddings were not available after several attempts.',
  E6001: 'Storage is not available at the moment; the item is retried until it is.',
} as const;
export type ItemErrorCode = keyof typeof ITEM_ERRORS;

/** Thrown by detection and parsers when the item itself is at fault. A retry does not help. */
export class ExtractionError extends Error {
  override readonly name = 'ExtractionError';
  readonly code: ItemErrorCode;
  /** Appended to the sentence of the code; must not quote the document. */
  readonly detail: string | undefined;

  constructor(code: ItemErrorCode, detail?: string) {
    super(detail ? `${ITEM_ERRORS[code]} ${detail}` : ITEM_ERRORS[code]);
    this.code = code;
    this.detail = detail;
  }
}

/** File kinds, detected by content. Each has one parser. */
const FILE_KINDS = {
  pdf: ['pdf'],
  docx: ['docx'],
  xlsx: ['xlsx'],
  pptx: ['pptx'],
  odt: ['odt'],
  ods: ['ods'],
  odp: ['odp'],
  rtf: ['rtf'],
  doc: ['doc'],
  xls: ['xls'],
  msg: ['msg'],
  eml: ['eml'],
  epub: ['epub'],
  image: ['png', 'jpg', 'jpeg', 'webp', 'tif', 'tiff', 'bmp', 'gif'],
  svg: ['svg'],
  csv: ['csv', 'tsv'],
  html: ['html', 'htm'],
  markdown: ['md', 'markdown'],
  json: ['json', 'jsonl'],
  text: ['txt'],
};
export type FileKind = keyof typeof FILE_KINDS;

/**
 * The usual extensions of the kinds. Content decides, so these are for clients that say before an upload what is not accepted: a
 * file with another extension is accepted when it is text, such as source code.
 */
export const FILE_EXTENSIONS: readonly string[] = Object.values(FILE_KINDS).flat();

/** Detection receives this many bytes from the start of a file. */
export const HEAD_BYTES = 64 * 1024;

export interface DetectOptions {
  /** Decides only between text kinds, when their content is ambiguous. */
  filename?: string;
  /** Opens the whole file from its start. Used when the head of a container does not show its kind. */
  openStream?: () => Readable;
}

/**
 * Detects what a file is by its content.
 * @param head the first `HEAD_BYTES` of the file, or all of a shorter file
 * @throws ExtractionError for a file that is not supported
 */
export type DetectKind<Kind = FileKind> = (
  head: Buffer,
  options: DetectOptions,
) => Promise<{ kind: Kind; mime_type: string }>;
