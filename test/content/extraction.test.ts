import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import sharp from 'sharp';
import { detectFileKind } from '../../providers/extraction/index.js';
import { prepareForOcr } from '../../providers/extraction/ocr/picture.js';
import { lettering } from '../fixtures/lettering.js';
import { bitmap, bomb, docx, zip } from '../fixtures/made-files.js';
import { detectAndExtract, startExtractor, textOf } from '../support/extractor.js';
import { temporaryFolder } from '../support/folder.js';

const FIXTURES = join(process.cwd(), 'test/fixtures');
const folder = temporaryFolder('extraction');
const extractor = startExtractor({ processes: 2 });
afterAll(() => extractor.close());

const fixture = (name: string) => detectAndExtract(extractor, join(FIXTURES, name));
async function content(name: string, bytes: string | Buffer, using = extractor) {
  const path = join(folder, name);
  await writeFile(path, bytes);
  return detectAndExtract(using, path);
}

describe('documents', () => {
  test('a DOCX has its title, headings and tables', async () => {
    const { kind, title, sections } = await fixture('handbook.docx');
    expect({ kind, title }).toEqual({ kind: 'docx', title: 'Harbour handbook' });
    const fees = sections.find((section) => section.headings.at(-1) === 'Fees')!;
    expect(fees.headings).toEqual(['Moorings', 'Fees']);
    expect(fees.text).toContain('forty crowns');
    expect(fees.text).toContain('Vessel: Ketch; Fee: 55');
  });

  test('a workbook repeats its header in each row and keeps its dates', async () => {
    const { kind, sections } = await fixture('fees.xlsx');
    expect(kind).toBe('xlsx');
    expect(sections[0]!.sheet).toBe('Fees');
    expect(sections[0]!.text).toMatch(/^Vessel: Vessel 1; Fee: 40; Paid: true; Day: 2024-01-01$/m);
    expect(sections.at(-1)).toEqual({
      text: 'Name: Ada; Rank: Pilot\nName: Bo; Rank: Mate',
      headings: [],
      sheet: 'Crew',
      // An empty row is between them.
      rows: [2, 4],
    });
  });

  test('a presentation has a section per slide, and notes stay with their slide', async () => {
    const { kind, sections } = await fixture('plan.pptx');
    expect(kind).toBe('pptx');
    expect(sections.map((section) => section.slide)).toEqual([1, 2]);
    expect(sections[0]!.text).not.toContain('silt');
    expect(sections[1]!.text).toContain('Speaker note about silt');
  });

  test('OpenDocument texts, sheets and presentations are read', async () => {
    const [log, tides, briefing] = await Promise.all(['log.odt', 'tides.ods', 'briefing.odp'].map(fixture));
    expect(log).toMatchObject({ kind: 'odt', title: 'Harbour log' });
    expect(log!.sections[1]).toEqual({ text: 'One crane was bent.', headings: ['January', 'Damage'] });
    expect(tides).toMatchObject({
      kind: 'ods',
      sections: [{ sheet: 'Tides', text: 'Port: North; High: 4.2\nPort: South; High: 3.9' }],
    });
    expect(briefing).toMatchObject({ kind: 'odp', sections: [{ slide: 1 }, { slide: 2, text: 'Tugs wait outside' }] });
  });

  test('an RTF is read with its accents', async () => {
    const notice = await fixture('notice.rtf');
    expect(notice.kind).toBe('rtf');
    expect(textOf(notice)).toContain('The lighthouse keeper’s café closes at nine.');
  });

  test('a PDF has a section per page', async () => {
    const { kind, title, sections } = await fixture('report.pdf');
    expect({ kind, title }).toEqual({ kind: 'pdf', title: 'Harbour report' });
    expect(sections.map((section) => section.page)).toEqual([1, 2]);
    expect(sections[1]!.text).toContain('Ingrid Vale');
  });
});

describe('text kinds', () => {
  test.each([
    ['fees.csv', 'Ship;Fee\nAstrid;40\nFreja;55\n', 'csv', 'Ship: Freja; Fee: 55'],
    ['no-name', 'ship\tfee\tday\nAstrid\t40\t1\nFreja\t55\t2\n', 'csv', 'ship: Freja; fee: 55; day: 2'],
    ['data.json', '{"port": {"name": "Vestby", "berths": [1, 2]}}', 'json', 'port.name: Vestby\nport.berths: 1, 2'],
    ['lines.jsonl', '{"a": 1}\n{"a": 2}\n', 'json', 'a: 1\n\na: 2'],
    ['prose.txt', 'BMW and MZ begin this sentence, not a file.', 'text', 'BMW and MZ begin this sentence, not a file.'],
  ])('the kind of %s is detected by content', async (name, text, kind, expected) => {
    const extraction = await content(name, text);
    expect(extraction.kind).toBe(kind);
    expect(textOf(extraction)).toContain(expected);
  });

  test('a web page is read with its headings and without navigation and scripts', async () => {
    const page = await content(
      'page',
      '<!doctype html><title>Port</title><nav>Menu</nav><script>var hidden</script><h1>Quay</h1><p>Ships <b>moor</b> here.</p>',
    );
    expect(page).toMatchObject({
      kind: 'html',
      title: 'Port',
      sections: [{ headings: ['Quay'], text: 'Ships moor here.' }],
    });
  });

  test('Markdown headings are headings, except inside code', async () => {
    const page = await content('notes.md', '# Port\n\nText.\n\n## Quay\n\n```\n# no heading\n```\n');
    expect(page.sections.map((section) => section.headings)).toEqual([['Port'], ['Port', 'Quay']]);
    expect(page.sections[1]!.text).toContain('# no heading');
  });

  test.each([
    ['windows-1252', Buffer.from('Le caf\xe9 du port est ferm\xe9 en \xe9t\xe9, dit la g\xe9rante.', 'latin1')],
    ['UTF-16 with a byte order mark', Buffer.from('\ufeffLe café du port est fermé en été.', 'utf16le')],
    ['UTF-16 without a byte order mark', Buffer.from('Le café du port est fermé en été.', 'utf16le')],
    ['UTF-8', Buffer.from('Le café du port est fermé en été.')],
  ])('text in %s is decoded', async (_encoding, bytes) => {
    expect(textOf(await content('text.txt', bytes))).toMatch(/^Le café du port est fermé en été/);
  });
});

describe('pictures', () => {
  const size = { width: 800, height: 90 };
  let drawn: Uint8Array;
  beforeAll(async () => {
    drawn = await lettering([{ text: 'The lighthouse opened in 1887', x: 20, y: 60 }], { ...size, size: 36 });
  });
  const picture = () => sharp(drawn, { raw: { ...size, channels: 1 } });

  test.each(['png', 'jpeg', 'webp', 'tiff', 'gif'] as const)('the text of a %s is read', async (format) => {
    const extraction = await content(`notice.${format}`, await picture().toFormat(format).toBuffer());
    expect(extraction.kind).toBe('image');
    expect(textOf(extraction)).toContain('The lighthouse opened in 1887');
  });

  test('the text of a BMP is read', async () => {
    const { data, info } = await picture().toColourspace('srgb').raw().toBuffer({ resolveWithObject: true });
    expect(textOf(await content('notice.bmp', bitmap(data, info.width, info.height)))).toContain(
      'lighthouse opened in 1887',
    );
  });

  test('a photo that is stored on its side is read in the size in which it is shown', async () => {
    const upright = await prepareForOcr(picture());
    const stored = await picture().rotate(-90).withMetadata({ orientation: 6 }).jpeg().toBuffer();
    const { width, height } = await prepareForOcr(sharp(stored));
    expect({ width, height }).toEqual({ width: upright.width, height: upright.height });
  });

  test('a picture with too many pixels is E2003, and a picture without text is E2004', async () => {
    const small = startExtractor({ limits: { maxPixels: 1_000 } });
    const blank = await sharp({ create: { width: 60, height: 60, channels: 3, background: 'white' } })
      .png()
      .toBuffer();
    await expect(content('big.png', blank, small)).rejects.toMatchObject({ code: 'E2003' });
    await small.close();
    await expect(content('blank.png', blank)).rejects.toMatchObject({ code: 'E2004' });
  });
});

describe('invalid files', () => {
  const rejects = (name: string, bytes: string | Buffer, code: string) =>
    expect(content(name, bytes)).rejects.toMatchObject({ name: 'ExtractionError', code });

  test('a renamed EXE is E1002', () =>
    rejects('invoice.pdf', Buffer.concat([Buffer.from('MZ\x90\0\x03\0\0\0', 'latin1'), Buffer.alloc(500)]), 'E1002'));
  test('an ELF, a plain ZIP and a video are E1002', async () => {
    await rejects('notes.txt', Buffer.concat([Buffer.from('\x7fELF\x02\x01\x01'), Buffer.alloc(500)]), 'E1002');
    await rejects('files.docx', zip({ 'readme.txt': Buffer.from('hello') }), 'E1002');
    await rejects(
      'film.png',
      Buffer.concat([Buffer.from('\0\0\0\x18ftypmp42\0\0\0\0mp42isom'), Buffer.alloc(500)]),
      'E1002',
    );
  });
  test('every beginning of a binary file is detected or E1002', async () => {
    for (const name of ['scanned.pdf', 'handbook.docx', 'report.pdf']) {
      const head = await readFile(join(FIXTURES, name));
      for (let length = 1; length <= 12; length++) {
        const error = await detectFileKind(head.subarray(0, length)).then(
          () => 'E1002',
          (reason) => reason.code,
        );
        expect([name, length, error]).toEqual([name, length, 'E1002']);
      }
    }
    for (const bytes of [
      [0, 1],
      [0, 1, 2],
      [0, 0x50, 0x4b, 3],
    ]) {
      await expect(detectFileKind(Buffer.from(bytes))).rejects.toMatchObject({ code: 'E1002' });
    }
  });
  test('an empty file is E2001', () => rejects('empty.txt', '', 'E2001'));
  test('an encrypted PDF is E2002', () => expect(fixture('encrypted.pdf')).rejects.toMatchObject({ code: 'E2002' }));
  test('a PDF without any text is E2004', () =>
    expect(fixture('scanned.pdf')).rejects.toMatchObject({ code: 'E2004' }));
  test('a password-protected Office document is E2002, and a legacy document is E1002', async () => {
    const compound = Buffer.concat([Buffer.from('d0cf11e0a1b11ae1', 'hex'), Buffer.alloc(1_000)]);
    await rejects('old.doc', compound, 'E1002');
    await rejects('sealed.docx', Buffer.concat([compound, Buffer.from('EncryptedPackage', 'utf16le')]), 'E2002');
  });
  test('a truncated PDF and a truncated DOCX are E2001', async () => {
    for (const name of ['report.pdf', 'handbook.docx']) {
      const whole = await readFile(join(FIXTURES, name));
      await rejects(name, whole.subarray(0, whole.length * 0.6), 'E2001');
    }
  });
  test('a PDF over the page limit is E2003', async () => {
    const strict = startExtractor({ limits: { maxPages: 1 } });
    await expect(detectAndExtract(strict, join(FIXTURES, 'report.pdf'))).rejects.toMatchObject({ code: 'E2003' });
    await strict.close();
  });

  test('a zip bomb named .docx is E2003 and does not exhaust memory', async () => {
    const file = docx(await bomb(400));
    const before = process.memoryUsage().rss;
    let peak = before;
    const sampler = setInterval(() => {
      peak = Math.max(peak, process.memoryUsage().rss);
    }, 5);
    try {
      await rejects('bomb.docx', file, 'E2003');
    } finally {
      clearInterval(sampler);
    }
    expect(peak - before).toBeLessThan(150 * 1024 * 1024);
  });
  test('a bomb that states a wrong size is E2001', async () =>
    rejects('liar.docx', docx({ ...(await bomb(40)), size: 1_000 }), 'E2001'));
  test('too many entries are E2003', () =>
    rejects(
      'many.docx',
      docx(...Array.from({ length: 10_001 }, () => ({ deflated: Buffer.from('0300', 'hex'), size: 0 }))),
      'E2003',
    ));
  test('a damaged picture is E2001', async () => {
    const noise = {
      create: { width: 200, height: 200, channels: 3, noise: { type: 'gaussian', mean: 128, sigma: 40 } },
    } as const;
    const png = await sharp({ create: { ...noise.create, background: 'white' } })
      .png()
      .toBuffer();
    await rejects('cut.png', png.subarray(0, png.length / 2), 'E2001');
  });

  test('an error never quotes the document', async () => {
    const path = join(folder, 'secret.json');
    await writeFile(path, '{"password": hunter2}');
    const failure = extractor.extract({ path, kind: 'json' });
    await expect(failure).rejects.toMatchObject({ code: 'E2001' });
    await expect(failure).rejects.not.toThrow(/hunter2|password/);
  });
});

describe('limits', () => {
  test('a parser over its time limit is E2003, and the next file is read', async () => {
    const tooFast = startExtractor({ processes: 1, timeoutMs: 1 });
    await expect(detectAndExtract(tooFast, join(FIXTURES, 'handbook.docx'))).rejects.toMatchObject({
      code: 'E2003',
    });
    await tooFast.close();
    expect((await fixture('handbook.docx')).title).toBe('Harbour handbook');
  });

  test('a parser over its memory limit is E2003, and the next file is read', async () => {
    const small = startExtractor({ processes: 1, memoryMb: 24 });
    const table = `name,value,remark\n${'some words,12345,and some more words\n'.repeat(400_000)}`;
    await expect(content('large.csv', table, small)).rejects.toThrow(/over a processing limit.*memory/);
    expect(textOf(await content('small.txt', 'Still works.', small))).toBe('Still works.');
    await small.close();
  });

  test('an aborted extraction ends with the reason of the signal', async () => {
    const reason = new Error('stopped');
    await expect(
      extractor.extract({ path: join(FIXTURES, 'handbook.docx'), kind: 'docx' }, AbortSignal.abort(reason)),
    ).rejects.toBe(reason);
  });

  test('a missing file is an internal error', async () => {
    const missing = extractor.extract({ path: join(folder, 'missing'), kind: 'text' });
    await expect(missing).rejects.toThrow(/ENOENT/);
  });
});
