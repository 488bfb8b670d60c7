import { describe, expect, test } from '@jest/globals';
import { createLanguageMarks } from '../../activities/content/chunk-languages.js';
import { chunkSections, searchableText } from '../../domain/content/chunking.js';

const sentence = (n: number, words = 10) =>
  `${Array.from({ length: words - 1 }, (_, at) => (at === 0 ? 'Word' : 'word')).join(' ')} number${n}. `;
const prose = (sentences: number) => Array.from({ length: sentences }, (_, n) => sentence(n)).join('');
const section = (text: string, rest: { headings?: string[]; page?: number; sheet?: string } = {}) => ({
  text,
  headings: [],
  ...rest,
});
const chunksOf = (...sections: ReturnType<typeof section>[]) => [...chunkSections({ sections })];
const words = (text: string) => text.split(/\s+/).length;

describe('chunks', () => {
  test('a short text is one chunk, unchanged', () => {
    expect(chunksOf(section('One sentence. And another.'))).toEqual([
      { ordinal: 0, text: 'One sentence. And another.', headings: [] },
    ]);
  });

  test('an empty document has no chunks', () => {
    expect(chunksOf(section(' \n\n \t'), section(''))).toEqual([]);
    expect(chunksOf()).toEqual([]);
  });

  test('a long text is split at ends of sentences into chunks of about the same size', () => {
    const chunks = chunksOf(section(prose(100)));
    expect(chunks.length).toBeGreaterThanOrEqual(4);
    for (const { text } of chunks) {
      expect(text).toMatch(/^Word .* number\d+\.$/s);
      expect(words(text)).toBeLessThanOrEqual(250);
      expect(words(text)).toBeGreaterThan(100);
    }
    expect(chunks.map(({ ordinal }) => ordinal)).toEqual(chunks.map((_, at) => at));
  });

  test('every sentence is in a chunk, and neighbours overlap by the last sentences of the first', () => {
    const chunks = chunksOf(section(prose(100)));
    const all = chunks.map(({ text }) => text).join(' ');
    for (let n = 0; n < 100; n += 1) expect(all).toContain(`number${n}.`);
    const last = chunks[0]!.text.match(/number\d+\.$/)![0];
    expect(chunks[1]!.text.slice(0, 400)).toContain(last);
  });

  test('chunks end at paragraphs where possible, and keep the empty lines between them', () => {
    const [first, second] = chunksOf(section(`${prose(14)}\n\n${prose(13)}`));
    expect(words(first!.text)).toBe(140);
    expect(second!.text).toContain('\n\n');
  });

  test('sections are joined only under the same headings, page and sheet', () => {
    const chunks = chunksOf(
      section('A.', { headings: ['x'], page: 1 }),
      section('B.', { headings: ['x'], page: 1 }),
      section('C.', { headings: ['x'], page: 2 }),
      section('D.', { headings: ['y'], page: 2 }),
      section('E.', { sheet: 's' }),
    );
    expect(chunks).toEqual([
      { ordinal: 0, text: 'A.\n\nB.', headings: ['x'], page: 1 },
      { ordinal: 1, text: 'C.', headings: ['x'], page: 2 },
      { ordinal: 2, text: 'D.', headings: ['y'], page: 2 },
      { ordinal: 3, text: 'E.', headings: [], sheet: 's' },
    ]);
  });

  test('a sentence, a word or a text without spaces over the limit is split', () => {
    for (const text of ['word '.repeat(2_000), 'x'.repeat(30_000), '熱伝達の研究'.repeat(500), '😀'.repeat(3_000)]) {
      const chunks = chunksOf(section(text));
      expect(chunks.length).toBeGreaterThan(2);
      expect(chunks.map((chunk) => chunk.text.replace(/\s/g, '')).join('')).toBe(text.replace(/\s/g, ''));
      for (const chunk of chunks) expect(chunk.text).not.toMatch(/[\ud800-\udfff]/u);
    }
  });

  test('a line break inside a sentence is kept and does not split it', () => {
    const wrapped = Array.from({ length: 60 }, (_, n) => `This sentence goes on\nin the next line ${n}.`).join(' ');
    for (const { text } of chunksOf(section(wrapped))) expect(text).toMatch(/^This sentence goes on\n.*\d\.$/s);
  });

  test('the same document produces the same chunks', () => {
    const document = section(`${prose(300)}\r\n\r\n${prose(40)}`);
    expect(chunksOf(document)).toEqual(chunksOf(document));
  });

  test('a document of 10 MB is split completely', () => {
    const text = prose(190_000);
    const chunks = chunksOf(section(text));
    expect(text.length).toBeGreaterThan(10_000_000);
    expect(chunks.length).toBeGreaterThan(7_600);
    expect(chunks.at(-1)!.text).toContain('number189999.');
  });

  test('title and headings are searched with the text, each once', () => {
    expect(searchableText('Wings', { text: 'Lift.', headings: ['Part 1', 'Theory'] })).toBe(
      'Wings\nPart 1 > Theory\nLift.',
    );
    expect(searchableText('Wings', { text: 'Lift.', headings: ['Wings'] })).toBe('Wings\nLift.');
    expect(searchableText(null, { text: 'Lift.', headings: [] })).toBe('Lift.');
  });
});

describe('chunks of other languages', () => {
  const chunksOf = (sentence: string) =>
    [...chunkSections({ sections: [{ text: sentence.repeat(120), headings: [] }] })].map(({ text }) => text);

  test.each([
    ['de', 'Große Schiffe müssen draußen warten, bis die Lotsen kommen. '],
    ['uk', 'Світло маяка видно здалеку. '],
    ['ar', 'الميناء مغلق حتى الصباح، هل السفن تنتظر في الخارج؟ '],
    ['hi', 'बंदरगाह सुबह तक बंद है और जहाज़ बाहर इंतज़ार करते हैं। '],
    ['ja', '灯台の光は遠くから見えます。'],
    ['zh', '港口明天早上开放。'],
  ])('end with a sentence: %s', (_language, sentence) => {
    const chunks = chunksOf(sentence);
    expect(chunks.length).toBeGreaterThan(2);
    for (const chunk of chunks) expect(chunk.endsWith(sentence.trim())).toBe(true);
  });

  test('end with a word in Thai, which has neither spaces nor full stops', () => {
    const words = ['ท่าเรือ', 'ปิด', 'จน', 'ถึง', 'เช้า', 'และ', 'เรือ', 'รอ', 'อยู่', 'ข้าง', 'นอก'];
    const chunks = chunksOf(words.join(''));
    expect(chunks.length).toBeGreaterThan(10);
    for (const chunk of chunks) expect(words.some((word) => chunk.endsWith(word))).toBe(true);
    expect(chunks.join('')).toBe(words.join('').repeat(120));
  });
});

test('other work runs while the languages of many chunks are detected', async () => {
  const mark = await createLanguageMarks();
  const text = '\u56fe\u3002'.repeat(300);
  const chunks = Array.from({ length: 3_000 }, () => ({ title: null, text, headings: [] }) as never);
  let turns = 0;
  let marked = false;
  const count = () => {
    turns += 1;
    if (!marked) setImmediate(count);
  };
  count();
  await mark(chunks);
  marked = true;
  expect(turns).toBeGreaterThan(2);
});
