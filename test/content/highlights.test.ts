import { describe, expect, test } from '@jest/globals';
import type { TextLanguage } from '../../domain/content/languages.js';
import { createTextAnalysis } from '../../storage/content/search-index/analysis.js';
import { createHighlighter } from '../../storage/content/search-index/highlights.js';
import { readText, tokensOf } from '../../storage/content/search-index/words.js';

const highlighter = createHighlighter();
async function marked(query: string, text: string, language?: TextLanguage): Promise<string[]> {
  const [ranges] = await highlighter.mark(query, [{ text, language }]);
  return ranges!.map(([start, end]) => text.slice(start, end));
}

describe('the words of a query in a text', () => {
  test.each<[string, string, string, TextLanguage | undefined, string[]]>([
    ['by their stems', 'flashing lamps', 'The LAMP flashed; lamplight does not.', undefined, ['LAMP', 'flashed']],
    ['without accents', 'cafe', 'Le Café, le cafe\u0301 et le CAFÉ.', 'fr', ['Café', 'cafe\u0301', 'CAFÉ']],
    ['without stop words', 'is the lamp on', 'The lamp is on the table.', undefined, ['lamp']],
    ['in the language of the text', 'Haus', 'Die Häuser am Hausboot.', 'de', ['Häuser']],
    ['within German compounds', 'Zahlung', 'Der Zahlungseingang fehlt.', 'de', ['Zahlungseingang']],
    ['in Russian', 'книга', 'Все книги прочитаны.', 'ru', ['книги']],
    ['by pairs of characters', '図書館', 'この図書館と図書。', undefined, ['図書館', '図書']],
    ['in half-width Katakana', 'ガス', '新しいｶﾞｽです', undefined, ['ｶﾞｽ']],
    ['in decomposed Hangul', '한국', `이것은 ${'한국'.normalize('NFD')} 이다`, undefined, ['한국'.normalize('NFD')]],
    ['in ligatures and wide letters', 'first file', 'ｆｉｒｓｔ ﬁle', undefined, ['ｆｉｒｓｔ', 'ﬁle']],
    ['after letters that grow in lower case', 'lamp', 'İİİ 😀 lamp', undefined, ['lamp']],
    ['as numbers', '1 2', 'a ½ b', undefined, ['½', '½']],
    ['of which none matches', 'boat', 'The lamp.', undefined, []],
    ['that has stop words only', 'the and of', 'The lamp of the and.', undefined, []],
  ])('are found %s', async (_how, query, text, language, expected) => {
    expect(await marked(query, text, language)).toEqual(expected);
  });

  test('are found in texts of several languages at once', async () => {
    const texts = [{ text: 'Viele Häuser', language: 'de' as const }, { text: 'many houses' }];
    const ranges = await highlighter.mark('house Haus', texts);
    expect(ranges).toEqual([[[6, 12]], [[5, 11]]]);
  });

  test('are those that the index finds', async () => {
    const analysis = createTextAnalysis();
    const text = 'Ships were mooring at the Quay’s ends in ﬁve STORMS, naïve café 図書館 ½ İstanbul x'.repeat(3);
    const [indexed] = await analysis.analyse([{ text }]);
    const { any } = await analysis.analyseQuery('moor quay storm naive cafe 図書 end', ['en']);
    const asked = new Set(any.split(' '));
    const found = indexed!.split(' ').filter((term) => asked.has(term)).length;
    expect((await marked('moor quay storm naive cafe 図書 end', text)).length).toBe(found);
  });
});

test('the tokens of a text that is marked are the tokens of the index', async () => {
  for (const text of [
    'Plain ASCII words 42',
    'Ünïcode İ ﬁ ½ ㈱ ｶﾞｽ 図書館 ok',
    'e\u0301a\u0308',
    '😀 x 𝒜bc',
    '\u0301\u0301 a',
  ]) {
    const { tokens } = await readText(text, async () => undefined);
    expect(tokens).toEqual(tokensOf(text));
  }
});

test('marking takes time in proportion to the text', async () => {
  const text = 'The lamp ½ 図書館の flashes İ e\u0301\u0301 ﬁ! '.repeat(20_000);
  const [ranges] = await highlighter.mark('lamp flash 図書館', [{ text }]);
  expect(ranges).toHaveLength(60_000);
});

test.each([
  ['combining marks', 'e\u0301\u0302'],
  ['Japanese without spaces', '図書館'],
  ['half-width Katakana', 'ｶﾞ'],
])('a long passage of %s lets other requests run', async (_, part) => {
  let turns = 0;
  let waiting = setImmediate(function turn() {
    turns++;
    waiting = setImmediate(turn);
  });
  await highlighter.mark('lamp', [{ text: part.repeat(300_000) }]);
  clearImmediate(waiting);
  expect(turns).toBeGreaterThan(3);
});
