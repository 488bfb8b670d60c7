import './word-characters.js';
import { readFile } from 'node:fs/promises';
import { CFB } from '@e965/xlsx';
import WordExtractor from 'word-extractor';
import { type Extraction, ExtractionError } from '../../../domain/extraction.js';
import { cleanText } from '../plain-text.js';
import { HeadingSections } from './headings.js';

/** Offset of the flags in the header of a Word document, and the flag of an encrypted one ([MS-DOC] 2.5.2). */
const FLAGS_AT = 10;
const ENCRYPTED = 0x0100;

/**
 * A document of Word 97 to 2003: its text, then its text boxes, footnotes and endnotes.
 * @throws ExtractionError E2001 damaged or of an earlier Word, E2002 encrypted
 */
export async function extractDoc(path: string): Promise<Extraction> {
  const file = await readFile(path);
  if (isEncrypted(file)) throw new ExtractionError('E2002');
  const document = await new WordExtractor().extract(file).catch(() => {
    // The library's messages can quote the file.
    throw new ExtractionError('E2001');
  });
  const sections = new HeadingSections();
  const parts = [
    document.getBody(),
    document.getTextboxes({ includeHeadersAndFooters: false }),
    document.getFootnotes(),
    document.getEndnotes(),
  ];
  for (const part of parts) for (const paragraph of cleanText(part).split('\n')) sections.paragraph(paragraph);
  return { title: null, sections: sections.finish() };
}

function isEncrypted(file: Buffer): boolean {
  try {
    const content = CFB.find(CFB.read(file, { type: 'buffer' }), 'WordDocument')?.content;
    return content !== undefined && (Buffer.from(content).readUInt16LE(FLAGS_AT) & ENCRYPTED) !== 0;
  } catch {
    throw new ExtractionError('E2001');
  }
}
