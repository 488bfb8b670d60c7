import { Writable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { StringDecoder } from 'node:string_decoder';
import * as cheerio from 'cheerio';
import { type Entry, openPromise, type ZipFile } from 'yauzl';
import { ExtractionError } from '../../../domain/extraction.js';
import type { ExtractionLimits } from '../limits.js';

/** Small documents deflate very well, so the ratio is checked only beyond this size. */
const RATIO_FROM_BYTES = 16 * 1024 * 1024;
const MANIFEST = 'META-INF/manifest.xml';

/**
 * Checks the zip container of an Office document before a parser reads it. It inflates every entry, storing nothing,
 * because the sizes stated in an archive cannot be trusted.
 * @throws ExtractionError E2003 over a limit, E2001 damaged, E2002 with encrypted entries
 */
export async function checkArchive(path: string, limits: ExtractionLimits): Promise<void> {
  const zip = await openZip(path);
  let entries = 0;
  let inflated = 0;
  const count = (bytes: number) => {
    inflated += bytes;
    if (inflated > limits.maxInflatedBytes)
      throw new ExtractionError('E2003', 'The archive inflates to too many bytes.');
    if (inflated > RATIO_FROM_BYTES && inflated > zip.fileSize * limits.maxInflationRatio)
      throw new ExtractionError('E2003', 'The archive inflates to too many times its size.');
  };
  try {
    if (zip.entryCount > limits.maxEntries) throw new ExtractionError('E2003', 'The archive has too many entries.');
    for await (const entry of zip.eachEntry()) {
      if (++entries > limits.maxEntries) throw new ExtractionError('E2003', 'The archive has too many entries.');
      if (entry.isEncrypted()) throw new ExtractionError('E2002');
      const manifest: Buffer[] = [];
      await readEntry(zip, entry, (chunk) => {
        count(chunk.length);
        if (entry.fileName === MANIFEST) manifest.push(chunk);
      });
      // OpenDocument encrypts inside plain entries and states so in its manifest.
      if (Buffer.concat(manifest).includes('encryption-data')) throw new ExtractionError('E2002');
    }
  } catch (error) {
    throw error instanceof ExtractionError ? error : new ExtractionError('E2001', 'The archive is damaged.');
  } finally {
    zip.close();
  }
}

/**
 * Reads some entries of a container that passed `checkArchive`.
 * @returns texts by entry name
 */
export async function readEntries(path: string, wanted: (name: string) => boolean): Promise<Map<string, string>> {
  const zip = await openZip(path);
  const texts = new Map<string, string>();
  try {
    for await (const entry of zip.eachEntry()) {
      if (!wanted(entry.fileName)) continue;
      const chunks: Buffer[] = [];
      await readEntry(zip, entry, (chunk) => chunks.push(chunk));
      texts.set(entry.fileName, Buffer.concat(chunks).toString('utf8'));
    }
  } finally {
    zip.close();
  }
  return texts;
}

/**
 * Reads one entry of a container that passed `checkArchive` as a stream.
 * @param onText called with pieces of any length
 */
export async function scanEntry(path: string, name: string, onText: (text: string) => void): Promise<void> {
  const zip = await openZip(path);
  const decoder = new StringDecoder('utf8');
  try {
    for await (const entry of zip.eachEntry())
      if (entry.fileName === name) await readEntry(zip, entry, (chunk) => onText(decoder.write(chunk)));
  } finally {
    zip.close();
  }
}

/** The targets of a relationships entry (`.rels`) of an OOXML document, by relationship id. */
export function relationshipTargets(xml = ''): Map<string, string> {
  const $ = cheerio.load(xml, { xml: true });
  return new Map(
    $('Relationship')
      .toArray()
      .map((node) => [$(node).attr('Id') ?? '', $(node).attr('Target') ?? '']),
  );
}

async function openZip(path: string): Promise<ZipFile> {
  try {
    return await openPromise(path, { lazyEntries: true, autoClose: false });
  } catch {
    throw new ExtractionError('E2001', 'The archive is damaged.');
  }
}

async function readEntry(zip: ZipFile, entry: Entry, onChunk: (chunk: Buffer) => void): Promise<void> {
  if (entry.fileName.endsWith('/')) return;
  const stream = await zip.openReadStreamPromise(entry);
  await pipeline(
    stream,
    new Writable({
      write(chunk: Buffer, _encoding, done) {
        try {
          onChunk(chunk);
          done();
        } catch (error) {
          done(error as Error);
        }
      },
    }),
  );
}
