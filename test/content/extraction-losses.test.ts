import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { utils, type WorkSheet, write } from '@e965/xlsx';
import { afterAll, describe, expect, test } from '@jest/globals';
import iconv from 'iconv-lite';
import { assemblePdf } from '../fixtures/lettering.js';
import { BREAK, openText, openWorkbook, wordDocument } from '../fixtures/made-documents.js';
import { workbook } from '../fixtures/made-sheets.js';
import { detectAndExtract, startExtractor, textOf } from '../support/extractor.js';
import { temporaryFolder } from '../support/folder.js';

/** What files have that parsers lose by themselves, or read twice. */
const folder = temporaryFolder('losses');
const extractor = startExtractor();
afterAll(() => extractor.close());

async function content(name: string, bytes: string | Buffer) {
  const path = join(folder, name);
  await writeFile(path, bytes);
  return detectAndExtract(extractor, path);
}
const contentText = async (name: string, bytes: string | Buffer) => textOf(await content(name, bytes));

describe('DOCX', () => {
  const run = (text: string) => `<w:r><w:t xml:space="preserve">${text}</w:t></w:r>`;
  const paragraph = (markup: string) => `<w:p>${markup}</w:p>`;
  const control = (markup: string) => `<w:sdt><w:sdtPr/><w:sdtContent>${markup}</w:sdtContent></w:sdt>`;
  const box = (markup: string) => `<w:txbxContent>${markup}</w:txbxContent>`;
  const read = (xml: string, notes = {}) => contentText('file.docx', wordDocument([{ xml }], notes));

  test('content controls around paragraphs, within each other, are read', async () => {
    expect(await read(control(paragraph(run('Lamp.')) + control(paragraph(run('Oil.')))))).toBe('Lamp.\n\nOil.');
  });

  test('content controls around a table, a row and a cell are read', async () => {
    const cell = (text: string) => `<w:tc>${paragraph(run(text))}</w:tc>`;
    const row = (...cells: string[]) => `<w:tr>${cells.join('')}</w:tr>`;
    const rows = [row(cell('Ship'), cell('Home')), control(row(cell('Freja'), control(cell('Oslo'))))];
    expect(await read(control(`<w:tbl>${rows.join('')}</w:tbl>`))).toBe('Ship: Freja; Home: Oslo');
  });

  test('a text box, which has a second form for old programs, is read once and after its paragraph', async () => {
    const forms = `<mc:Choice>${box(paragraph(run('In the box.')))}</mc:Choice><mc:Fallback>${box(paragraph(run('In the box.')))}</mc:Fallback>`;
    const names = 'xmlns:mc="http://schemas.openxmlformats.org/markup-compatibility/2006"';
    const shape = `<w:r><mc:AlternateContent ${names}>${forms}</mc:AlternateContent></w:r>`;
    expect(await read(paragraph(run('Beside it') + shape + run(' and on.')))).toBe('Beside it and on.\n\nIn the box.');
  });

  test('tabs, line breaks and hyphens that do not break are characters', async () => {
    const parts = ['co', '<w:r><w:noBreakHyphen/></w:r>', 'op', '<w:r><w:tab/></w:r>', 'Oslo', '<w:r><w:br/></w:r>', 'Bergen', '<w:r><w:cr/></w:r>', 'Vestby']; // biome-ignore format: one line
    const xml = paragraph(parts.map((part) => (part.startsWith('<') ? part : run(part))).join(''));
    expect(await read(xml)).toBe('co-op\tOslo\nBergen\nVestby');
  });

  test('markup that is nested without end is rejected before a tree is built of it', async () => {
    await expect(read('<w:p>'.repeat(1_000_000))).rejects.toMatchObject({
      code: 'E2003',
      message: expect.stringContaining('nested too deeply'),
    });
  });

  test('moved text is read where it is now, and deleted text is not read', async () => {
    const moved = (to: 'From' | 'To') => `<w:move${to} w:id="1">${run('The oil. ')}</w:move${to}>`;
    const deleted = `<w:del w:id="2"><w:r><w:delText>Whale. </w:delText></w:r>${run('Fish. ')}</w:del>`;
    expect(await read(paragraph(moved('From') + run('The lamp. ') + deleted + moved('To') + run('The wick.')))).toBe(
      'The lamp. The oil. The wick.',
    );
  });

  test('characters with their pronunciation above them are read without it', async () => {
    const ruby = `<w:r><w:ruby><w:rt>${run('みなと')}</w:rt><w:rubyBase>${run('港')}</w:rubyBase></w:ruby></w:r>`;
    expect(await read(paragraph(run('この') + ruby + run('は古い。')))).toBe('この港は古い。');
  });

  test('footnotes and endnotes follow the paragraph that refers to them', async () => {
    const reference = (kind: string) => `<w:r><w:${kind}Reference w:id="1"/></w:r>`;
    const xml = paragraph(run('Lit') + reference('footnote') + run(' at dusk') + reference('endnote')) + paragraph(run('Then dawn.')); // biome-ignore format: one line
    expect(await read(xml, { footnotes: ['With oil.'], endnotes: ['By hand.'] })).toBe(
      'Lit at dusk\n\nWith oil.\n\nBy hand.\n\nThen dawn.',
    );
  });
});

describe('ODT', () => {
  const read = (markup: string) => contentText('file.odt', openText(markup));

  test('a footnote follows its paragraph', async () => {
    const note =
      '<text:note text:note-class="footnote"><text:note-citation>1</text:note-citation><text:note-body><text:p>With oil.</text:p></text:note-body></text:note>';
    expect(await read(`<text:p>Lit${note} at dusk.</text:p><text:p>Then dawn.</text:p>`)).toBe(
      'Lit at dusk.\n\nWith oil.\n\nThen dawn.',
    );
  });

  test('text that a tracked change deleted is not read', async () => {
    const changes =
      '<text:tracked-changes><text:changed-region><text:deletion><text:p>Whale oil.</text:p></text:deletion></text:changed-region></text:tracked-changes>';
    expect(await read(`${changes}<text:p>Fish &amp; oil.</text:p>`)).toBe('Fish & oil.');
  });

  const cell = (markup: string, attributes = '') => `<table:table-cell ${attributes}>${markup}</table:table-cell>`;
  const row = (...cells: string[]) => `<table:table-row>${cells.join('')}</table:table-row>`;
  const line = (text: string) => `<text:p>${text}</text:p>`;

  test('the header of a table that is repeated on each page is read', async () => {
    const header = `<table:table-header-rows>${row(cell(line('Ship')), cell(line('Home')))}</table:table-header-rows>`;
    expect(await read(`<table:table>${header}${row(cell(line('Freja')), cell(line('Oslo')))}</table:table>`)).toBe(
      'Ship: Freja; Home: Oslo',
    );
  });

  test('lists in the cells of a table are read', async () => {
    const item = (text: string, inner = '') => `<text:list-item>${line(text)}${inner}</text:list-item>`;
    const list = (items: string) => `<text:list>${items}</text:list>`;
    const cargo = list(item('Salt', list(item('white'))) + item('Oil'));
    const rows = row(cell(line('Ship')), cell(line('Cargo'))) + row(cell(line('Freja')), cell(cargo));
    expect(await read(`<table:table>${rows}</table:table>`)).toBe('Ship: Freja; Cargo: Salt white Oil');
  });

  test('a cell that is merged over columns leaves the cells after it in their columns', async () => {
    const merged = cell(line('All of it'), 'table:number-columns-spanned="2"');
    const rows =
      row(cell(line('Ship')), cell(line('Home')), cell(line('Cargo'))) +
      row(merged, '<table:covered-table-cell/>', cell(line('Oil')));
    expect(await read(`<table:table>${rows}</table:table>`)).toBe('Ship: All of it; Cargo: Oil');
  });

  test('the header of a list, as which some slides have their title, is read', async () => {
    const list = `<text:list><text:list-header>${line('Cargo')}</text:list-header><text:list-item>${line('Oil')}</text:list-item></text:list>`;
    expect(await read(list)).toBe('Cargo\n\nOil');
  });

  test('fields and references within a line are read, and pronunciations are not', async () => {
    const reference = '<text:bookmark-ref text:ref-name="a">the lamp</text:bookmark-ref>';
    const number = '<text:sequence text:name="Table">4</text:sequence>';
    const ruby = '<text:ruby><text:ruby-base>港</text:ruby-base><text:ruby-text>みなと</text:ruby-text></text:ruby>';
    expect(await read(line(`Table ${number}: see ${reference} of ${ruby}.`))).toBe('Table 4: see the lamp of 港.');
  });
});

test('optional hyphens of a DOC are left out, and hyphens that do not break are hyphens', async () => {
  const file = await readFile('test/fixtures/two-languages.doc', 'latin1');
  const wide = (text: string) => Buffer.from(text, 'utf16le').toString('latin1');
  const marked = file.replace(wide('parsing'), wide('par\u001Fing')).replace(wide('in node'), wide('in\u001Enode'));
  expect(await contentText('hyphens.doc', Buffer.from(marked, 'latin1'))).toContain(
    'for paring the Word file in-node.',
  );
});

describe('RTF', () => {
  const read = (body: string) =>
    contentText('file.rtf', Buffer.from(`{\\rtf1\\ansi\\ansicpg1252\\deff0{\\fonttbl{\\f0 Arial;}}${body}\\par}`, 'latin1')); // biome-ignore format: one line

  test.each([
    ['a character', 'Price \\u8364? 5', 'Price € 5'],
    ['a byte in hex', "Price \\u8364\\'80 5", 'Price € 5'],
    ['two characters', '\\uc2\\u1055\\\'8f\\\'a5\\u1088ab end', 'Пр end'], // biome-ignore format: quotes
    ['no character', '\\uc0\\u1055 \\u1088 ?', 'Пр?'],
  ])('a replacement of %s is not read', async (_what, body, expected) => {
    expect(await read(body)).toBe(expected);
  });

  test('the length of replacements applies to its group', async () => {
    expect(await read('{\\uc0\\u1055 a}\\u1088?b {\\uc2 {\\u1080??c}}\\u1090?d')).toBe('Пaрb иcтd');
  });

  test('dashes, bullets, spaces and hyphens of their own control words are characters', async () => {
    expect(await read('a\\emdash b\\endash c\\~d\\_e\\-f \\bullet g')).toBe('a—b–c\u00a0d-ef •g');
  });

  test.each([
    ['Price\\uc1 \\u8364?5', 'Price€5'],
    ['{\\b\\uc1 Bold} x', 'Bold x'],
    ['a{\\b\\-soft} x', 'asoft x'],
  ])('the text behind a control word that is left out stays: %s', async (body, expected) => {
    expect(await read(body)).toBe(expected);
  });

  const inFonts = (body: string, codePage = 1252) =>
    contentText('fonts.rtf', Buffer.from(`{\\rtf1\\ansi\\ansicpg${codePage}\\deff0{\\fonttbl{\\f0 Arial;}{\\f1\\fcharset238 Arial;}{\\f2\\fcharset204 Arial;}{\\f3\\fcharset128 Mincho;}}${body}\\par}`, 'latin1')); // biome-ignore format: one line

  test.each([
    ['Central European', "\\f1 P\\'f8\\'edstav", 'Přístav'],
    ['Cyrillic', "\\f2 \\'cc\\'e0\\'ff\\'ea", 'Маяк'],
    ['Japanese', "\\f3 \\'8d\\'60 \\'83J", '港 カ'],
    ['each their own', "\\'e9 {\\f2 \\'e9} \\'e9", 'é й é'],
  ])('bytes are in the encoding of their font: %s', async (_which, body, expected) => {
    expect(await inFonts(body)).toBe(expected);
  });

  test('bytes in the encoding of a Japanese document', async () => {
    expect(await inFonts("\\'8d\\'60\\'82\\'cc", 932)).toBe('港の');
  });

  test.each([
    ['that is not hex', "\\f2 a\\'zz \\'ec"],
    ['at the end', "\\f2 a \\'ec\\'"],
  ])('a byte %s ends nothing', async (_which, body) => {
    expect(await inFonts(body)).toMatch(/^a.* ?м/);
  });

  test('words that objects of JavaScript have are words', async () => {
    expect(await read('The {\\b constructor} calls {\\i toString}')).toBe('The constructor calls toString');
  });

  test('a line that ends with a backslash is a line', async () => {
    expect(await read('Lamp\\\nOil')).toBe('Lamp\nOil');
  });

  test('bytes of a picture are no control words', async () => {
    expect(await read('Before {\\pict\\wmetafile8\\bin9 }\\uc0 {\\{}after \\u8364?')).toBe('Before after €');
  });
});

describe('tables', () => {
  const table = (rows: number, lineEnd = '\n') =>
    `ship,home,fee\n${Array.from({ length: rows }, (_, n) => `Ketch ${n},Oslo,${n}`).join(lineEnd)}${lineEnd}`;

  test('an ODS whose rows Excel filled with empty cells is read', async () => {
    const rows = [['ship', 'home', 'fee'], ...Array.from({ length: 200 }, (_, n) => [`Ketch ${n}`, 'Oslo', String(n)])];
    const read = await content('file.ods', openWorkbook([{ name: 'Fees', rows, filled: 16_381 }]));
    expect(read.sections).toMatchObject([{ sheet: 'Fees', text: expect.stringMatching(/^ship: Ketch 199; home: Oslo; fee: 199$/m) }]); // biome-ignore format: one line
  });

  test('a line break in a cell of an ODS is between words', async () => {
    const file = openWorkbook([{ name: 'Lights', rows: [[`white${BREAK}tower`, 'by the sea']] }]);
    expect(await contentText('break.ods', file)).toBe('white tower; by the sea');
  });

  test('an XLSX whose cells have no addresses is read', async () => {
    const rows = [['Ship', 'Home'], ['Freja', 'Oslo']]; // biome-ignore format: one line
    const file = workbook([{ name: 'Ships', rows, withoutAddresses: true }]);
    expect(await contentText('plain.xlsx', file)).toBe('Ship: Freja; Home: Oslo');
  });

  test('an XLSX with a damaged sheet is rejected, so that no sheet is lost in silence', async () => {
    const rows = [['Ship', 'Home'], ['Freja', 'Oslo']]; // biome-ignore format: one line
    const file = workbook([
      { name: 'Ships', rows },
      { name: 'More ships', rows, cut: true },
    ]);
    await expect(content('cut.xlsx', file)).rejects.toMatchObject({ code: 'E2001' });
  });

  test('a title over most columns is not repeated in each of them', async () => {
    const title = 'Ships that entered the harbour of Vestby in spring, with their cargo and the fees that they paid';
    const rows = [
      [title, null, null, null],
      ['Ship', 'Home', 'Cargo', 'Fee'],
      ['Freja', 'Oslo', 'Salt', 40],
    ];
    const file = workbook([{ name: 'Ships', rows, merged: ['A1:C1'] }]);
    expect(await contentText('title.xlsx', file)).toBe('Ship: Freja; Home: Oslo; Cargo: Salt; Fee: 40');
  });

  test('empty cells of an ODS before a cell with text count', async () => {
    const rows = [
      ['ship', 'home', 'fee'],
      ['Ketch', '', '40'],
      ['Yawl', 'Oslo', '55'],
    ];
    expect(textOf(await content('gap.ods', openWorkbook([{ name: 'Fees', rows, filled: 16_381 }])))).toBe(
      'ship: Ketch; fee: 40\nship: Yawl; home: Oslo; fee: 55',
    );
  });

  test('a CSV of 130,000 rows is read', async () => {
    const { sections } = await content('rows.csv', table(130_000));
    expect(sections.at(-1)!.text).toMatch(/^ship: Ketch 129999; home: Oslo; fee: 129999$/m);
  });

  test('a CSV with an empty row after each row is read', async () => {
    const { sections } = await content('ends.csv', table(20_000, '\r\r\n'));
    expect(sections.at(-1)!.text).toMatch(/^ship: Ketch 19999; home: Oslo; fee: 19999$/m);
  });

  test('a CSV in quotes whose first KiB end within quotes keeps its header', async () => {
    const remark = 'a long remark with a line\nend, and so on; '.repeat(5);
    const rows = Array.from({ length: 200 }, (_, n) => `"Ketch ${n}";"${remark}";"${n}"`);
    const { kind, sections } = await content('quoted.csv', ['"ship";"remark";"fee"', ...rows].join('\n'));
    expect({ kind, last: sections.at(-1)!.text }).toMatchObject({
      kind: 'csv',
      last: expect.stringMatching(/^ship: Ketch 199; remark: a long remark .*; fee: 199$/m),
    });
  });

  const TIMES = 'what: opens; when: 08:30:00\nwhat: lasts; when: 37:30:00\nwhat: since; when: 2024-01-01\nwhat: lit; when: 2024-01-01T18:00:00'; // biome-ignore format: one line

  test('times of day and durations of an XLSX have no date', async () => {
    const rows = [
      ['what', 'when'],
      ['opens', new Date(Date.UTC(1899, 11, 30, 8, 30))],
      ['lasts', new Date(Date.UTC(1899, 11, 31, 13, 30))],
      ['since', new Date(Date.UTC(2024, 0, 1))],
      ['lit', new Date(Date.UTC(2024, 0, 1, 18))],
    ];
    expect(await contentText('times.xlsx', workbook([{ name: 'Times', rows }]))).toBe(TIMES);
  });

  test('times of day and durations of an XLS have no date', async () => {
    const sheet: WorkSheet = utils.aoa_to_sheet([
      ['what', 'when'],
      ['opens', { t: 'n', v: 8.5 / 24, z: 'h:mm' }],
      ['lasts', { t: 'n', v: 37.5 / 24, z: '[h]:mm:ss' }],
      ['since', { t: 'n', v: 45_292, z: 'yyyy-mm-dd' }],
      ['lit', { t: 'n', v: 45_292.75, z: 'yyyy-mm-dd h:mm' }],
    ]);
    const file = write({ SheetNames: ['Times'], Sheets: { Times: sheet } }, { type: 'buffer', bookType: 'biff8' });
    expect(await contentText('times.xls', file as Buffer)).toBe(TIMES);
  });

  test('a date of January 1900 in an XLS, which stands for no date, is a date', async () => {
    const sheet: WorkSheet = utils.aoa_to_sheet([
      ['what', 'when'],
      ['ends', { t: 'n', v: 1, z: 'yyyy-mm-dd' }],
      ['takes', { t: 'n', v: 1, z: '[h]:mm:ss' }],
    ]);
    const file = write({ SheetNames: ['Times'], Sheets: { Times: sheet } }, { type: 'buffer', bookType: 'biff8' });
    expect(await contentText('none.xls', file as Buffer)).toBe(
      'what: ends; when: 1900-01-01\nwhat: takes; when: 24:00:00',
    );
  });
});

describe('mailboxes', () => {
  const mail = (subject: string, text: string) =>
    `From a@example.org Mon May  2 16:07:05 2005\nFrom: a@example.org\nMessage-ID: <1@example.org>\nSubject: ${subject}\n\n${text}\n\n`;

  test('an e-mail below the line that a mailbox starts it with is an e-mail', async () => {
    expect(await content('one.eml', mail('Lamp', 'Lit.'))).toMatchObject({
      kind: 'eml',
      title: 'Lamp',
      sections: [{ text: 'From: a@example.org\nSubject: Lamp\nLit.' }],
    });
  });

  test('each e-mail of a mailbox is read', async () => {
    const { kind, title, sections } = await content(
      'box.mbox',
      mail('Lamp', 'Lit.') + mail('Oil', 'From here on: out.'),
    );
    expect({ kind, title, texts: sections.map(({ text }) => text) }).toEqual({
      kind: 'eml',
      title: null,
      texts: ['From: a@example.org\nSubject: Lamp\nLit.', 'From: a@example.org\nSubject: Oil\nFrom here on: out.'],
    });
  });
});

describe('encodings', () => {
  const GERMAN = 'Grüße aus Köln – schön, dass es geht.';
  const RUSSIAN = 'Маяк в гавани был зажжён сегодня ночью, и корабли вошли в порт. '.repeat(5).trim();
  const page = (text: string) => `<!doctype html><body><p>${text}</p></body>`;
  const damaged = (before: string) =>
    Buffer.concat([Buffer.from(`${before}${GERMAN} `.padEnd(100)), Buffer.from([0xff]), Buffer.from(` ${GERMAN}`)]);

  test('a web page in UTF-8 that does not say so', async () => {
    expect(await contentText('page.html', page(GERMAN))).toBe(GERMAN);
  });

  test.each([
    ['windows-1252', GERMAN],
    ['koi8-r', RUSSIAN],
  ])('a web page in %s that does not say so', async (encoding, text) => {
    expect(await contentText('page.html', iconv.encode(page(text), encoding))).toBe(text);
  });

  test('a web page in the encoding that it says', async () => {
    const said = `<!doctype html><meta charset="koi8-r"><body><p>Маяк</p></body>`;
    expect(await contentText('page.html', iconv.encode(said, 'koi8-r'))).toBe('Маяк');
  });

  test.each([
    ['near its start', ''],
    ['behind 64 KiB of ASCII', 'plain words '.repeat(7_000)],
  ])('a text in UTF-8 with a damaged byte %s', async (_where, before) => {
    expect(await contentText('damaged.txt', damaged(before))).toMatch(/Grüße aus Köln – schön, dass es geht\.\s+\ufffd Grüße aus Köln – schön/); // biome-ignore format: one line
  });

  test('a text in UTF-8 in another script with a damaged byte behind its first 64 KiB', async () => {
    const text = RUSSIAN.repeat(200);
    const bytes = Buffer.concat([Buffer.from(text), Buffer.from([0xff]), Buffer.from(` ${RUSSIAN}`)]);
    expect(await contentText('late.txt', bytes)).toContain('Маяк в гавани');
  });

  test.each([
    ['windows-1252', GERMAN],
    ['koi8-r', RUSSIAN],
    ['utf-8', GERMAN],
  ])('an e-mail in %s that does not say so', async (encoding, text) => {
    const mail = `From: a@example.org\r\nTo: b@example.org\r\nMessage-ID: <1@example.org>\r\nSubject: Lamp\r\n\r\n${text}\r\n`;
    expect(await contentText('mail.eml', iconv.encode(mail, encoding))).toBe(
      `From: a@example.org\nTo: b@example.org\nSubject: Lamp\n${text}`,
    );
  });

  test.each([
    ['windows-1251', RUSSIAN],
    ['koi8-r', RUSSIAN],
    ['windows-1253', 'Ο φάρος στο λιμάνι άναψε σήμερα τη νύχτα και τα πλοία μπήκαν στο λιμάνι με ασφάλεια'],
  ])('a table in %s with English names', async (encoding, text) => {
    const rows = text.split(' ').map((word, n) => `${n},LAMP-${n}-AB,${word},${n}.50,available`);
    const table = iconv.encode(['number,article code,description,unit price,stock', ...rows].join('\n'), encoding);
    expect(await contentText('stock.csv', table)).toContain(`description: ${text.split(' ')[1]}; unit price: 1.50`);
  });

  test('a short text in Slovak, and one in Italian whose words with accents are single letters', async () => {
    const slovak =
      'Lode priplávali do prístavu ešte pred západom slnka a strážca majáka zapálil svetlo. Ľudia na móle čakali.';
    const italian = 'La lampada è accesa e il faro è alto; la nave è in porto e il mare è calmo.';
    expect(await contentText('slovak.txt', iconv.encode(slovak, 'windows-1250'))).toBe(slovak);
    expect(await contentText('italian.txt', iconv.encode(italian, 'windows-1252'))).toBe(italian);
  });

  test('a page that says its encoding behind a long head', async () => {
    const said = `<!doctype html><head><script>${'var lamp; '.repeat(300)}</script><meta charset="koi8-r"></head><body><p>Маяк</p></body>`;
    expect(await contentText('page.html', iconv.encode(said, 'koi8-r'))).toBe('Маяк');
  });

  test('an e-mail in UTF-16', async () => {
    const mail = 'From: a@example.org\nTo: b@example.org\nMessage-ID: <1@example.org>\nSubject: Lamp\n\nLit.\n';
    expect(await contentText('wide.eml', iconv.encode(mail, 'utf-16le'))).toBe(
      'From: a@example.org\nTo: b@example.org\nSubject: Lamp\nLit.',
    );
  });

  test('a text with a stray control character, and the end that DOS writes', async () => {
    expect(
      await contentText('note.txt', Buffer.from(`${'Lit at dusk. '.repeat(100)}\u0002Out at dawn.\u001A`)),
    ).toMatch(/Lit at dusk\. Out at dawn\.$/);
  });

  test('an e-mail in the encodings that its parts say', async () => {
    const part = (charset: string, text: string) =>
      Buffer.concat([Buffer.from(`--edge\r\nContent-Type: text/plain; charset=${charset}\r\n\r\n`), iconv.encode(text, charset), Buffer.from('\r\n')]); // biome-ignore format: one line
    const head = 'From: a@example.org\r\nMessage-ID: <1@example.org>\r\nMIME-Version: 1.0\r\nContent-Type: multipart/mixed; boundary=edge\r\n\r\n'; // biome-ignore format: one line
    const mail = Buffer.concat([Buffer.from(head), part('windows-1252', GERMAN), part('koi8-r', RUSSIAN), Buffer.from('--edge--\r\n')]); // biome-ignore format: one line
    expect(await contentText('parts.eml', mail)).toMatch(new RegExp(`${GERMAN}\\s+${RUSSIAN}$`));
  });

  test.each([
    ['windows-1252', GERMAN],
    ['koi8-r', RUSSIAN],
  ])('a text in %s', async (encoding, text) => {
    expect(await contentText('text.txt', iconv.encode(text, encoding))).toBe(text);
  });
});

describe('JSON', () => {
  test('numbers with more digits than JavaScript holds keep them', async () => {
    expect(
      await contentText('ids.json', '{"id": 12345678901234567890, "fee": 1.10, "list": [9007199254740993, 2]}'),
    ).toBe('id: 12345678901234567890\nfee: 1.1\nlist: 9007199254740993, 2');
  });

  test('so do those of JSON lines', async () => {
    expect(await contentText('ids.jsonl', '{"id": 12345678901234567890}\n{"id": 12345678901234567891}\n')).toBe(
      'id: 12345678901234567890\n\nid: 12345678901234567891',
    );
  });

  test('a list of 10 MB fits into the memory of a process', async () => {
    const records = Array.from({ length: 30_000 }, (_, n) => ({ id: n, remark: 'oil and wick '.repeat(25) }));
    const { sections } = await content('large.json', JSON.stringify(records));
    expect(sections.at(-1)!.text).toContain('29999');
  });

  test('a list of the lines of a text is a text', async () => {
    const notebook = { cells: [{ source: ['# Lamps\n', '\n', 'Lit at dusk.'] }], tags: ['harbour', 'night'] };
    expect(await contentText('lamps.json', JSON.stringify(notebook))).toBe(
      'cells[0].source: # Lamps\n\nLit at dusk.\ntags: harbour, night',
    );
  });

  test('of a name that an object has twice, the last value counts', async () => {
    expect(await contentText('twice.json', '{"a": 1, "a": 2}')).toBe('a: 2');
  });
});

describe('HTML', () => {
  const read = (body: string) => contentText('page.html', `<!doctype html><meta charset="utf-8"><body>${body}</body>`);

  test('the text of a form is read without its fields', async () => {
    const fields =
      '<input value="secret"><select><option>Oslo</select><textarea>typed</textarea><button>Send</button><datalist><option>Bergen</datalist>';
    expect(await read(`<p>Before</p><form><h1>Quay</h1>Ships moor here.${fields}</form>After`)).toBe(
      'Before\nShips moor here.\n\nAfter',
    );
  });

  test.each(['display:none', 'color: red; DISPLAY: none'])(
    'an element with the style %s is not read',
    async (style) => {
      expect(await read(`<p>Shown</p><div style="${style}">Hidden</div><p style="display: block">Also shown</p>`)).toBe(
        'Shown\n\nAlso shown',
      );
    },
  );
});

describe('PDF', () => {
  test('texts of a line that do not touch are words, in whichever order they are drawn', async () => {
    const text = 'BT /F 12 Tf 300 700 Td (Page 7) Tj -250 0 Td (Report of the harbour office) Tj ET';
    const bodies = [
      '<< /Type /Catalog /Pages 2 0 R >>',
      '<< /Type /Pages /Count 1 /Kids [3 0 R] >>',
      '<< /Type /Page /Parent 2 0 R /MediaBox [0 0 600 800] /Contents 4 0 R /Resources << /Font << /F 5 0 R >> >> >>',
      `<< /Length ${text.length} >>\nstream\n${text}\nendstream`,
      '<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>',
    ];
    const file = assemblePdf(bodies.map((body, n) => Buffer.from(`${n + 1} 0 obj\n${body}\nendobj\n`)));
    expect(await contentText('footer.pdf', file)).toBe('Page 7 Report of the harbour office');
  });

  test('the values of the fields of a form follow the text of their page', async () => {
    const text = 'BT /F 12 Tf 50 700 Td (The form of the harbour office asks for a name:) Tj ET';
    const bodies = [
      '<< /Type /Catalog /Pages 2 0 R /AcroForm << /Fields [6 0 R 7 0 R 8 0 R] >> >>',
      '<< /Type /Pages /Count 1 /Kids [3 0 R] >>',
      '<< /Type /Page /Parent 2 0 R /MediaBox [0 0 600 800] /Contents 4 0 R /Annots [6 0 R 7 0 R 8 0 R] /Resources << /Font << /F 5 0 R >> >> >>',
      `<< /Length ${text.length} >>\nstream\n${text}\nendstream`,
      '<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>',
      '<< /Type /Annot /Subtype /Widget /FT /Tx /T (f1) /TU (Name) /V (Ingrid Vale) /Rect [50 600 300 620] /P 3 0 R >>',
      '<< /Type /Annot /Subtype /Widget /FT /Ch /T (f2) /Opt [(Oslo) (Vestby)] /V (Vestby) /Rect [50 550 300 570] /P 3 0 R >>',
      // A password.
      '<< /Type /Annot /Subtype /Widget /FT /Tx /Ff 8192 /T (f3) /V (swordfish) /Rect [50 500 300 520] /P 3 0 R >>',
    ];
    const file = assemblePdf(bodies.map((body, n) => Buffer.from(`${n + 1} 0 obj\n${body}\nendobj\n`)));
    expect(await contentText('form.pdf', file)).toBe(
      'The form of the harbour office asks for a name:\nName: Ingrid Vale\nVestby',
    );
  });
});
