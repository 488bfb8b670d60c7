/** What extraction gives and how it fails: the words shared by parsers, activities and the ingest endpoint. */

/** Where a stretch of text stands in its document; only what there is. */
export interface Place {
  /** 1-based page of a PDF, or frame of an image. */
  page?: number;
  /** What a PDF calls the page ("iv"), where that is not its number. */
  page_label?: string;
  /** 1-based slide of a presentation. */
  slide?: number;
  slide_title?: string;
  /** Sheet of a workbook. */
  sheet?: string;
}

/** A stretch of text that belongs together: a page, a slide, a table, or the text under a heading. */
export interface ExtractedSection extends Place {
  text: string;
  /** Headings above the text, outermost first. */
  headings: string[];
  /** Of a table: for each line of `text` the row it is of, from 1, as a spreadsheet counts. Not cut within a line. */
  rows?: number[];
}

export interface Extraction {
  /** The document's own title, when it states one. */
  title: string | null;
  sections: ExtractedSection[];
}

/** Item error codes: they describe an item, never a request (specification, "Ingestion error codes"). */
export const ITEM_ERRORS = {
  E1002:
    'The file format is not supported. Accepted: PDF, Office documents, images, CSV, HTML, Markdown, JSON and text.',
  E2001: 'The file is damaged or cannot be read.',
  E2002: 'The file is encrypted. Remove the password and ingest it again.',
  E2003: 'The file is over a processing limit.',
  E2004: 'No text was found in the item.',
  E3001: 'Embeddings were not available after several attempts.',
  E6001: 'Storage is not available at the moment; the item is retried until it is.',
} as const;
export type ItemErrorCode = keyof typeof ITEM_ERRORS;

/** Thrown by detection and parsers when the item itself is at fault; never worth a retry. */
export class ExtractionError extends Error {
  override readonly name = 'ExtractionError';

  /** @param detail what exactly was wrong, appended to the code's own sentence; must not quote the document */
  constructor(
    readonly code: ItemErrorCode,
    readonly detail?: string,
  ) {
    super(detail ? `${ITEM_ERRORS[code]} ${detail}` : ITEM_ERRORS[code]);
  }
}

/** File kinds by content; each has one parser. */
const FILE_KINDS = [
  'pdf',
  'docx',
  'xlsx',
  'pptx',
  'odt',
  'ods',
  'odp',
  'rtf',
  'image',
  'csv',
  'html',
  'markdown',
  'json',
  'text',
] as const;
export type FileKind = (typeof FILE_KINDS)[number];
