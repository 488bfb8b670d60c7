import { writeFile } from 'node:fs/promises';
import { extname, join } from 'node:path';
import { Readable } from 'node:stream';
import { afterAll, describe, expect, test } from '@jest/globals';
import { type Chunk, chunkSections } from '../../domain/content/chunking.js';
import { FILE_EXTENSIONS } from '../../domain/extraction.js';
import { detectFileKind } from '../../providers/extraction/index.js';
import { ANY, type ExpectedChunk, READ, REJECTED } from '../fixtures/file-set.js';
import { startExtractor } from '../support/extractor.js';
import { temporaryFolder } from '../support/folder.js';

const folder = temporaryFolder('files');
const extractor = startExtractor();
afterAll(() => extractor.close());

/** The file name: the case's name before the colon. */
const filenameOf = (name: string) => name.split(':')[0]!;

/** Detects, extracts and chunks a file, as ingestion does. */
async function chunksOf(name: string, bytes: Buffer, using = extractor): Promise<{ kind: string; chunks: Chunk[] }> {
  const filename = filenameOf(name);
  const openStream = () => Readable.from([bytes]);
  const { kind } = await detectFileKind(bytes.subarray(0, 64 * 1024), { filename, openStream });
  const path = join(folder, filename);
  await writeFile(path, bytes);
  return { kind, chunks: [...chunkSections(await using.extract({ path, kind }))] };
}

function matching({ text, ...place }: ExpectedChunk) {
  const value = (wanted: unknown): unknown =>
    wanted === ANY ? expect.anything() : Array.isArray(wanted) ? wanted.map(value) : wanted;
  const places = Object.fromEntries(Object.entries(place).map(([name, wanted]) => [name, value(wanted)]));
  return expect.objectContaining({ text: text instanceof RegExp ? expect.stringMatching(text) : text, ...places });
}

/** Files of these kinds are accepted with any extension. */
const TEXT_KINDS = ['csv', 'eml', 'html', 'json', 'markdown', 'svg', 'text'];

test('the published extensions include those of all files that are not text', () => {
  const extensions = READ.filter(({ kind }) => !TEXT_KINDS.includes(kind)).map(({ name }) =>
    extname(filenameOf(name)).slice(1),
  );
  expect(extensions.filter((extension) => !FILE_EXTENSIONS.some((known) => known === extension))).toEqual([]);
});

describe('files that are read', () => {
  test.each(READ)('$name', async ({ name, kind, file, chunks, only, without }) => {
    const read = await chunksOf(name, await file());
    expect(read.kind).toBe(kind);
    if (only) expect(read.chunks).toEqual(chunks.map(matching));
    else for (const chunk of chunks) expect(read.chunks).toContainEqual(matching(chunk));
    if (without) for (const { text } of read.chunks) expect(text).not.toMatch(without);
    for (const { text } of read.chunks) expect(text.split(/\s+/).length).toBeLessThanOrEqual(260);
  });
});

describe('files that are rejected', () => {
  test.each(REJECTED)('$name is $code', async ({ name, file, code, message = /./, limits }) => {
    const using = limits ? startExtractor({ limits }) : extractor;
    const rejection = expect(chunksOf(name, await file(), using)).rejects;
    await rejection.toMatchObject({ name: 'ExtractionError', code, message: expect.stringMatching(message) });
    if (limits) await using.close();
  });
});
