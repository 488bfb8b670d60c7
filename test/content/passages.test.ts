import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from '@jest/globals';
import { type Chunk, chunkSections } from '../../domain/content/chunking.js';
import type { FileKind } from '../../domain/extraction.js';
import { createGraphExtractor } from '../../providers/graph/index.js';
import { wordDocument } from '../fixtures/made-documents.js';
import { mixedPdf } from '../fixtures/scanned-files.js';
import { duringTests } from '../support/during-tests.js';
import { startExtractor } from '../support/extractor.js';
import { temporaryFolder } from '../support/folder.js';

const folder = temporaryFolder('passages');
const extractor = startExtractor();
const graphs = duringTests(createGraphExtractor);
afterAll(() => extractor.close());

async function chunksOf(kind: FileKind, content: string | Buffer): Promise<Chunk[]> {
  const path = join(folder, 'file');
  await writeFile(path, content);
  return [...chunkSections(await extractor.extract({ path, kind }))];
}
const markdown = (...lines: string[]) => chunksOf('markdown', lines.join('\n'));
const html = (body: string) => chunksOf('html', `<!doctype html><body>${body}</body>`);
const textOf = (chunks: readonly Chunk[]) => chunks.map(({ text }) => text).join('\n\n');
const codeOf = (chunks: readonly Chunk[]) =>
  chunks.flatMap(({ text, code = [] }) => code.map(([start, end]) => text.slice(start, end)));

describe('Markdown', () => {
  test('emphasis, links, pictures, quotations and lines are read without their marks', async () => {
    const chunks = await markdown(
      'The **lamp** of *Vestby* is ~~old~~ new; see [the log](https://example.com/log_1 "Log") and ![a tower](t.png).',
      '',
      '> The keeper\\*s words: 2 * 3 &amp; snake_case.',
      '',
      '---',
      '',
      'See <https://example.com/a>, a <br> Vec<String> and <your-name>[^1].',
      '',
      '[^1]: A note of two words.',
    );
    expect(textOf(chunks)).toBe(
      [
        'The lamp of Vestby is old new; see the log and a tower.',
        'The keeper*s words: 2 * 3 & snake_case.',
        'See https://example.com/a, a\nVec<String> and <your-name>.',
        'A note of two words.',
      ].join('\n\n'),
    );
  });

  test('the items of lists have bullets, numbers and their depth', async () => {
    const chunks = await markdown(
      '- Fog',
      '  horns',
      '* Lamp',
      '  1. Oil',
      '  2. Wick',
      '     - Spare',
      '',
      '3. Third',
      '4. Fourth',
    );
    expect(textOf(chunks)).toBe('• Fog horns\n\n• Lamp\n  1. Oil\n  2. Wick\n    • Spare\n\n3. Third\n4. Fourth');
  });

  test('rows of a table name their columns, also when cells have marks and escaped pipes', async () => {
    const chunks = await markdown('| 2023 | **Note** |', '| --- | :-: |', '| `a \\| b` | [open](x) |', '| 7 | |');
    expect(textOf(chunks)).toBe('2023: a | b; Note: open\n2023: 7');
    expect(codeOf(chunks)).toEqual(['a | b']);
  });

  test.each([
    ['an empty header', ['| | |', '|---|---|', '| Name | Ada |', '| Born | 1815 |']],
    ['no header', ['|---|---|', '| Name | Ada |', '| Born | 1815 |']],
    ['rows alone', ['| Name | Ada |', '| Born | 1815 |']],
  ])('a table with %s is rows of values', async (_what, lines) => {
    expect(textOf(await markdown(...lines))).toBe('Name; Ada\nBorn; 1815');
  });

  test('a table of one column names it', async () => {
    expect(textOf(await markdown('| Rule |', '|---|', '| Never sleep on watch. |', '| Wash. |'))).toBe(
      'Rule: Never sleep on watch.\nRule: Wash.',
    );
  });

  test.each([
    ['fences', ['```js', 'run();', '', '# no heading', '```']],
    ['tildes', ['~~~~', 'run();', '', '# no heading', '~~~', '~~~~']],
    ['an indent', ['    run();', '', '    # no heading']],
  ])('code in %s stays together and is marked', async (_what, lines) => {
    const [chunk, ...others] = await markdown('Start it so:', '', ...lines, '', 'Call `stop()` then.');
    expect(others).toEqual([]);
    expect(chunk!.text).toMatch(/^Start it so:\n\nrun\(\);\n\n# no heading/);
    expect(codeOf([chunk!])[0]).toMatch(/^run\(\);\n\n# no heading/);
    expect(codeOf([chunk!])[1]).toBe('stop()');
  });

  test('a fence that is never closed ends at an empty line', async () => {
    const chunks = await markdown('# Start', '', '```', 'npm start', '', '# Stop', '', 'Press **Ctrl-C**.');
    expect(chunks.map(({ headings, text }) => [headings, text])).toEqual([
      [['Start'], 'npm start'],
      [['Stop'], 'Press Ctrl-C.'],
    ]);
  });

  test('HTML within it is read as HTML', async () => {
    const chunks = await markdown(
      '<h1 align="center">Port</h1>',
      '',
      '<details>',
      '',
      'Open **daily**.',
      '',
      '</details>',
    );
    expect(chunks.map(({ headings, text }) => [headings, text])).toEqual([[['Port'], 'Open daily.']]);
  });

  test('a heading without text goes with what follows, and the last one with what is before', async () => {
    const chunks = await markdown('# FAQ', '## How is it reset?', '## Where is it?', 'In the tower.', '## See also');
    expect(chunks.map(({ headings, text }) => [headings, text])).toEqual([
      [['FAQ', 'Where is it?'], 'How is it reset?\n\nIn the tower.\n\nSee also'],
    ]);
  });

  test('a document of headings alone is one text', async () => {
    expect(await markdown('# Plan', '## First', '## Second')).toEqual([
      { ordinal: 0, text: 'Plan\nFirst\nSecond', headings: [] },
    ]);
  });
});

describe('other formats', () => {
  test('lists, code and tables of a web page', async () => {
    const chunks = await html(
      `<p>Use <code>--force</code>.</p><ol start="3"><li>Oil<ul><li>Fish<li>Whale</ul></li><li>Wick</li></ol>
      <pre class="highlight"><div>if (dark) {</div><div>  light();</div><div>}</div></pre><pre>A poem\n  goes on</pre>
      <table><tr><th>1</th><th>2</th></tr><tr><td>a<br>b</td><td><div>c</div><div>d</div></td></tr></table>`,
    );
    expect(textOf(chunks)).toBe(
      'Use --force.\n\n3. Oil\n  • Fish\n  • Whale\n4. Wick\n\nif (dark) {\n  light();\n}\n\nA poem\n  goes on\n\n1: a b; 2: c d',
    );
    expect(codeOf(chunks)).toEqual(['--force', 'if (dark) {\n  light();\n}']);
  });

  test('lists and code of a DOCX', async () => {
    const chunks = await chunksOf(
      'docx',
      wordDocument([
        'Buy these:',
        { item: 'Oil', depth: 1 },
        { item: 'Of fish', depth: 2 },
        'Then run',
        { text: 'postback start', style: 'SourceCode' },
        { text: '  --all', style: 'SourceCode' },
      ]),
    );
    expect(textOf(chunks)).toBe('Buy these:\n\n• Oil\n  • Of fish\n\nThen run\n\npostback start\n  --all');
    expect(codeOf(chunks)).toEqual(['postback start\n  --all']);
  });

  test('lines of a PDF in a font of equal widths are code, unless most of the page is in one', async () => {
    const page = [
      'The keeper starts the lamp every evening with this command:',
      'postback start',
      '--all',
      'Then it burns.',
    ];
    const [chunk] = await chunksOf('pdf', mixedPdf([page], { monospaced: /^(postback|--)/ }));
    expect(codeOf([chunk!])).toEqual(['postback start\n--all']);
    expect(chunk!.text).toMatch(/command:\n\npostback start\n--all\n\nThen it burns\.$/);
    const [typewritten] = await chunksOf('pdf', mixedPdf([page], { monospaced: /./ }));
    expect(typewritten!.code).toBeUndefined();
  });

  test('a page of a PDF that is only its heading goes with the next page', async () => {
    const title = 'Part two: the years of the great storms';
    const pages = [['The first lamp was lit in the year 1887.'], [title], ['The tower fell, and it was built again.']];
    const chunks = await chunksOf('pdf', mixedPdf(pages, { bookmarks: [[title, 2]] }));
    expect(chunks.map(({ page, headings, text }) => [page, headings, text])).toEqual([
      [1, [], pages[0]![0]],
      [3, [title], pages[2]![0]],
    ]);
  });
});

describe('code in chunks', () => {
  const lines = Array.from({ length: 120 }, (_, n) => `  const value${n} = read(${n}); // step`);

  test('a block over the limit of a chunk is divided between lines, all of it marked', async () => {
    const chunks = await markdown('Intro.', '', '```', ...lines, '```', '', 'Outro.');
    expect(chunks.length).toBeGreaterThan(2);
    for (const line of lines) expect(codeOf(chunks).join('\n')).toContain(line.trim());
    for (const code of codeOf(chunks)) expect(code).toMatch(/step$/);
    expect(codeOf(chunks).join()).not.toMatch(/tro\./);
  });

  test('a block within the limit is never divided', async () => {
    const block = lines.slice(0, 20);
    const prose = Array.from({ length: 200 }, (_, n) => `The keeper writes line ${n} into the log.`).join(' ');
    const chunks = await markdown(prose, '', '```', ...block, '```', '', prose);
    const whole = block.join('\n');
    expect(chunks.filter(({ text }) => text.includes('value0 ')).every(({ text }) => text.includes(whole))).toBe(true);
  });

  test('ranges are right in every chunk of a long text with code in its sentences', async () => {
    const sentences = Array.from({ length: 300 }, (_, n) => `Then call \`step${n}()\` to go on, é😀.`).join(' ');
    const chunks = await markdown(sentences);
    expect(chunks.length).toBeGreaterThan(5);
    for (const { text, code = [] } of chunks)
      expect(code.map(([start, end]) => text.slice(start, end))).toEqual(text.match(/step\d+\(\)/g));
  });

  test('the graph does not read it, and its evidence is the sentence', async () => {
    const [chunk] = await markdown(
      'Maria Jensen starts `Acme Lamp` in Bergen.',
      '',
      '```',
      'Peter Olsen works for Nordic Light in Oslo.',
      '```',
    );
    const { entities } = await graphs.extract([{ chunk_id: 'c', ...chunk! }]);
    const names = entities.map(({ name }) => name);
    expect(names).toContain('Maria Jensen');
    expect(names.join()).not.toMatch(/Olsen|Nordic|Oslo|Acme/);
    expect(entities[0]!.mentions[0]!.sentence).toBe('Maria Jensen starts Acme Lamp in Bergen.');
  });
});

test('a text of hostile marks is read in time in proportion to it', async () => {
  for (const mark of [
    '*a ',
    '_a ',
    '[',
    '[a](',
    '![',
    '`a ',
    '~~a ',
    '> a\n>> b\n',
    '- a\n  - b\n',
    '<a ',
    '|a',
    '\n```\n\n',
  ])
    expect((await markdown(`${mark.repeat(20_000 / mark.length)}end`)).length).toBeGreaterThan(0);
});
