import { describe, expect, test } from '@jest/globals';
import { type Chunk, chunkSections } from '../../domain/content/chunking.js';
import { joinChunks, type Passage } from '../../domain/content/joined-chunks.js';
import { countTokens, withinBudget } from '../../domain/content/passages.js';
import type { ExtractedSection } from '../../domain/extraction.js';

const prose = (sentences: number, word = 'word') =>
  Array.from({ length: sentences }, (_, n) => `The ${word} of this long sentence has the number ${n}.`);
const chunksOf = (...sections: ExtractedSection[]) =>
  [...chunkSections({ sections })].map((chunk) => ({ ...chunk, _id: `c${chunk.ordinal}` }));
const all = () => true;

describe('chunks that are joined', () => {
  test.each([
    ['sentences', prose(120).join(' ')],
    ['lines', prose(120).join('\n')],
    ['paragraphs', prose(120).join('\n\n')],
    [
      'paragraphs of three',
      prose(120)
        .map((text, n) => text + (n % 3 === 2 ? '\n\n' : ' '))
        .join('')
        .trim(),
    ],
  ])('are the text that was divided, without repetitions: %s', (_of, text) => {
    const chunks = chunksOf({ text, headings: [] });
    expect(chunks.length).toBeGreaterThan(4);
    expect(chunks.some(({ overlap = 0 }) => overlap > 0)).toBe(true);
    expect(joinChunks(chunks, all)).toEqual({
      chunk_ids: chunks.map(({ _id }) => _id),
      text,
      code: [],
      hits: [[0, text.length]],
    });
  });

  test('keep the ranges of their code, and of those that were found', () => {
    const sentences = prose(100).map((text, n) => ({ text, code: n % 7 === 0 }));
    let text = '';
    const code: [number, number][] = [];
    for (const sentence of sentences) {
      if (text !== '') text += ' ';
      if (sentence.code) code.push([text.length, text.length + sentence.text.length]);
      text += sentence.text;
    }
    const chunks = chunksOf({ text, headings: [], code });
    const passage = joinChunks(chunks, ({ _id }) => _id === 'c1');
    expect(passage.text).toBe(text);
    expect(passage.code).toEqual(code);
    expect(passage.hits.map(([start, end]) => text.slice(start, end))).toEqual([chunks[1]!.text]);
  });

  test('begin with what the first of them repeats of the chunk before', () => {
    const [, second, third] = chunksOf({ text: prose(120).join(' '), headings: [] });
    expect(second!.overlap).toBeGreaterThan(0);
    expect(joinChunks([second!], all)).toMatchObject({ text: second!.text, hits: [[0, second!.text.length]] });
    const passage = joinChunks([second!, third!], ({ _id }) => _id === third!._id);
    expect(passage.hits.map(([start, end]) => passage.text.slice(start, end))).toEqual([third!.text]);
  });

  test('name the heading where it changes, and continue the rows of a table', () => {
    const rows = Array.from({ length: 90 }, (_, n) => `Name: Ship ${n}; Fee: ${n}`);
    const chunks = chunksOf(
      { text: 'Open daily.', headings: ['Port', 'Office'] },
      { text: 'Closed at night.', headings: ['Port', 'Quay'] },
      { text: rows.join('\n'), headings: ['Port', 'Quay'], rows: rows.map((_, n) => n + 2) },
    );
    expect(joinChunks(chunks, all).text).toBe(`Open daily.\n\nQuay\n\nClosed at night.\n\n${rows.join('\n')}`);
  });
});

describe('a budget of tokens', () => {
  const passageOf = (chunk: Chunk & { _id: string }): Passage => joinChunks([chunk], all);
  const [first, second] = [prose(10), prose(10, 'other')].map((sentences) =>
    passageOf(chunksOf({ text: sentences.join(' '), headings: [] })[0]!),
  ) as [Passage, Passage];
  const total = (passages: readonly Passage[]) => passages.reduce((sum, { text }) => sum + countTokens(text), 0);
  const within = (tokens: number, passages = [first, second]) => withinBudget(passages, tokens, (passage) => passage);

  test('takes whole texts while they fit, then the sentences of the next', () => {
    expect(within(1_000)).toEqual([first, second]);
    for (let tokens = countTokens(first.text) + 20; tokens < total([first, second]); tokens += 7) {
      const [whole, cut] = within(tokens);
      expect(whole).toEqual(first);
      expect(cut!.truncated).toBe(true);
      expect(cut!.text).toMatch(/number \d+\.$/);
      expect(second.text.startsWith(cut!.text)).toBe(true);
      expect(total([whole!, cut!])).toBeLessThanOrEqual(tokens);
    }
  });

  test('leaves out a text of which no sentence fits, but never the first', () => {
    expect(within(countTokens(first.text) + 2)).toEqual([first]);
    const [cut, ...others] = within(5);
    expect(others).toEqual([]);
    expect(cut!.text).toBe('The word of this');
    expect(within(5, [{ ...first, text: '😀'.repeat(100) }])[0]!.text).toBe('😀'.repeat(4));
  });

  test('leaves out neighbours before it cuts a hit', () => {
    const passage = { ...first, text: `${second.text}\n\n${first.text}` };
    const kept = withinBudget([passage], countTokens(first.text), () => first);
    expect(kept).toEqual([first]);
  });

  test('cuts the ranges with the text', () => {
    const [cut] = within(30, [
      {
        ...first,
        code: [
          [4, 8],
          [40, first.text.length],
          [first.text.length - 1, first.text.length],
        ],
      },
    ]);
    expect(cut!.code).toEqual([
      [4, 8],
      [40, cut!.text.length],
    ]);
    expect(cut!.hits).toEqual([[0, cut!.text.length]]);
  });
});
