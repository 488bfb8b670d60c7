import { setTimeout as wait } from 'node:timers/promises';
import { deflateSync } from 'node:zlib';
import { FINAL_INDEXING_STATUSES } from '../../domain/content/states.js';
import { bomb, docx, zip } from '../../test/fixtures/made-files.js';
import { call } from '../support/api-client.js';
import type { HostileCase, Target } from './case.js';
import { send } from './send.js';

let number = 0;

/** Ingests a file and waits until its item has ended. @returns the status of the response or of the item */
async function ingestFile(target: Target, filename: string, content: string | Buffer): Promise<string> {
  const id = `file-${++number}`;
  const form = new FormData();
  form.set('database', target.database);
  form.set('document_metadata', JSON.stringify([{ id }]));
  form.set('documents', new Blob([content as string]), filename);
  const response = await send(target, 'POST', '/context/ingest', form);
  if (!response.startsWith('202')) return response;
  const path = `/context/status?database=${target.database}&id=${id}`;
  for (;;) {
    const { indexing_status, error_code } = (await call(target, 'GET', path)).statuses[0];
    if (FINAL_INDEXING_STATUSES.includes(indexing_status)) return `${indexing_status} ${error_code ?? ''}`.trim();
    if (target.signal.aborted) {
      // The next case must not pay for this file.
      await call(target, 'DELETE', '/context', { database: target.database, id });
      return `still ${indexing_status}`;
    }
    await wait(300);
  }
}

const file = (what: string, name: string, content: () => string | Buffer | Promise<Buffer>): HostileCase => ({
  name: `file: ${what}`,
  async prepare(target) {
    const bytes = await content();
    return () => ingestFile(target, name, bytes);
  },
});

const repeat = (count: number, text: string) => text.repeat(count);

/** A PDF whose pages share one content stream. @param pages references to pages in its tree */
function pdf(pages: number, stream: Buffer): Buffer {
  const kids = repeat(pages, '3 0 R ');
  return Buffer.concat([
    Buffer.from(
      `%PDF-1.4\n1 0 obj <</Type/Catalog/Pages 2 0 R>> endobj\n2 0 obj <</Type/Pages/Count ${pages}/Kids[${kids}]>> endobj\n` +
        '3 0 obj <</Type/Page/Parent 2 0 R/MediaBox[0 0 9 9]/Contents 4 0 R>> endobj\n' +
        `4 0 obj <</Length ${stream.length}/Filter/FlateDecode>> stream\n`,
    ),
    stream,
    Buffer.from('\nendstream endobj\ntrailer <</Root 1 0 R>>\n%%EOF'),
  ]);
}

/** The head of a PNG that claims its size, and few pixels. */
function png(width: number, height: number): Buffer {
  const header = Buffer.alloc(13);
  header.writeUInt32BE(width, 0);
  header.writeUInt32BE(height, 4);
  header.set([1, 0], 8);
  const chunk = (type: string, data: Buffer) => {
    const length = Buffer.alloc(4);
    length.writeUInt32BE(data.length);
    const body = Buffer.concat([Buffer.from(type), data]);
    const crc = Buffer.alloc(4);
    crc.writeUInt32BE(crc32(body));
    return Buffer.concat([length, body, crc]);
  };
  const rows = deflateSync(Buffer.alloc(Math.ceil(width / 8 + 1) * height));
  return Buffer.concat([
    Buffer.from('\x89PNG\r\n\x1a\n', 'latin1'),
    chunk('IHDR', header),
    chunk('IDAT', rows),
    chunk('IEND', Buffer.alloc(0)),
  ]);
}

function crc32(bytes: Buffer): number {
  let crc = ~0;
  for (const byte of bytes) {
    crc ^= byte;
    for (let bit = 0; bit < 8; bit += 1) crc = (crc >>> 1) ^ (crc & 1 ? 0xedb88320 : 0);
  }
  return ~crc >>> 0;
}

/** A GIF with many frames of one pixel on a large canvas. */
function gif(frames: number): Buffer {
  const start = Buffer.from('GIF89a\xff\x7f\xff\x7f\x80\x00\x00\x00\x00\x00\xff\xff\xff', 'latin1');
  const frame = Buffer.from(',\x00\x00\x00\x00\x01\x00\x01\x00\x00\x02\x02D\x01\x00', 'latin1');
  return Buffer.concat([start, ...Array<Buffer>(frames).fill(frame), Buffer.from(';')]);
}

/** A DOCX whose document is this XML. */
const wordXml = (xml: string) =>
  zip({
    '[Content_Types].xml': Buffer.from(
      '<Types><Override PartName="/word/document.xml" ContentType="application/vnd.openxmlformats-officedocument.wordprocessingml.document.main+xml"/></Types>',
    ),
    'word/document.xml': Buffer.from(xml),
  });

const LAUGHS = Array.from({ length: 9 }, (_, n) => `<!ENTITY l${n + 1} "${repeat(10, `&l${n};`)}">`).join('');

/** Files that are small to send and expensive to read. */
export const FILE_CASES: readonly HostileCase[] = [
  file('x and 65,000 newlines', 'a', () => `x${repeat(65_000, '\n')}y`),
  file('a megabyte of one line of asterisks', 'a', () => repeat(1_000_000, '*')),
  file('a megabyte of < and quotes', 'a', () => `<div ${repeat(500_000, '<"')}`),
  file('60 kB of open brackets and parentheses', 'a', () => repeat(15_000, '[](')),
  file('18 MB of 图。', 'a.txt', () => repeat(3_000_000, '图。')),
  file('5 MB without any space', 'a.txt', () => repeat(5_000_000, 'a')),
  file('HTML nested 100,000 deep', 'a.html', () => `<!doctype html><body>${repeat(100_000, '<div>')}x`),
  file('10 MB of HTML entities', 'a.html', () => `<!doctype html><body>${repeat(2_000_000, '&amp;')}`),
  file('HTML with an attribute of 10 MB', 'a.html', () => `<!doctype html><body a="${repeat(10_000_000, 'x')}">x`),
  file('Markdown nested 100,000 deep', 'a.md', () => `# x\n${repeat(100_000, '> ')}x`),
  file('JSON nested 100,000 deep', 'a.json', () => `${repeat(100_000, '[')}${repeat(100_000, ']')}`),
  file('a CSV of one line of 10 MB', 'a.csv', () => repeat(5_000_000, 'a,')),
  file('a CSV of one open quote', 'a.csv', () => `a,b\n1,"${repeat(5_000_000, 'x\n')}`),
  file('RTF nested 1 million deep', 'a.rtf', () => `{\\rtf1 ${repeat(1_000_000, '{')}x`),
  file('a DOCX that inflates to 1 GB', 'a.docx', async () => docx(await bomb(1_000))),
  file('a DOCX with XML nested 1 million deep', 'a.docx', () => wordXml(repeat(1_000_000, '<w:p>'))),
  file('a DOCX of billion laughs', 'a.docx', () =>
    wordXml(`<?xml version="1.0"?><!DOCTYPE l [<!ENTITY l0 "ha">${LAUGHS}]><w:document>&l9;</w:document>`),
  ),
  file('a DOCX of 20,000 parts', 'a.docx', async () => docx(...Array(20_000).fill(await bomb(0)))),
  file('a zip that claims to be a spreadsheet', 'a.xlsx', async () => zip({ 'xl/workbook.xml': await bomb(200) })),
  file('a PDF page that inflates to 300 MB', 'a.pdf', () => pdf(1, deflateSync(Buffer.alloc(300_000_000, 0x20)))),
  file('a PDF of 100,000 pages', 'a.pdf', () => pdf(100_000, deflateSync(Buffer.from('BT (x) Tj ET')))),
  file('an image of 30,000 x 30,000', 'a.png', () => png(30_000, 30_000)),
  file('a GIF of 200,000 frames', 'a.gif', () => gif(200_000)),
];
