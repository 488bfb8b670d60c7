import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { JsonBoundsError } from '../domain/bounded-json.js';
import { type ArrayBounds, findElements, parseElements } from '../domain/json-elements.js';

const bounds: ArrayBounds = {
  maxElements: 5,
  maxDepth: 4,
  maxValues: 20,
  element: { maxValues: 8, maxCharacters: 1_000 },
};
const wide: ArrayBounds = {
  maxElements: 100_000,
  maxDepth: 1_000,
  maxValues: 100_000,
  element: { maxValues: 100_000, maxCharacters: 1_000_000 },
};

async function parse(text: string, within = wide): Promise<unknown[]> {
  const json = Buffer.from(text);
  return [...parseElements(json, await findElements(json, within))];
}

describe('a JSON array, element by element', () => {
  test('has the elements that JSON.parse finds, however it is written', async () => {
    const text = fc.tuple(fc.array(fc.jsonValue()), fc.constantFrom(undefined, 1, '\t', ' \r\n'));
    await fc.assert(
      fc.asyncProperty(text, async ([values, indent]) => {
        const written = JSON.stringify(values, null, indent);
        expect(await parse(` ${written}\n`)).toEqual(JSON.parse(written));
      }),
    );
  });

  test('is an array or a syntax error exactly when JSON.parse says so', async () => {
    const pieces = ['[', ']', '{', '}', ',', ':', '"', '\\', '\\"', '\\u0041', '1', '"a"', '"a":', 'null', ' '];
    await fc.assert(
      fc.asyncProperty(fc.array(fc.constantFrom(...pieces), { maxLength: 8 }), async (parts) => {
        const text = `[${parts.join('')}]`;
        let expected: unknown;
        try {
          expected = JSON.parse(text);
        } catch {
          await expect(parse(text)).rejects.toThrow(SyntaxError);
          return;
        }
        expect(await parse(text)).toEqual(expected);
      }),
      { numRuns: 2_000 },
    );
  });

  test.each([
    '',
    ' ',
    '{}',
    '"a"',
    '1',
    'nonsense',
    '[',
    '[1',
    '[1,',
    '[1,]',
    '[,1]',
    '[1]]',
    '[1] 2',
    '[1}',
    '["',
    '["\\',
  ])('%s is a syntax error', async (text) => {
    await expect(parse(text)).rejects.toThrow(SyntaxError);
  });

  test('may start with a byte order mark', async () => {
    expect(await parse('\uFEFF["é", "図", "😀"]')).toEqual(['é', '図', '😀']);
  });

  test.each([
    ['too many elements', '[1,2,3,4,5,6]', /more than 5 elements/],
    ['too many values', `[${'[1,2,3,4],'.repeat(5)}[]]`, /more than 20 values/],
    ['too many values in an element', `[[${'{},'.repeat(30)}{}]]`, /element of more than 8 values/],
    ['too many levels', '[[[[[]]]]]', /deeper than 4 levels/],
    ['levels that are never closed', '['.repeat(1_000_000), /deeper than 4 levels/],
    ['a string that is too long', `["${'x'.repeat(1_000)}"]`, /more than 1000 characters/],
    ['a string that never ends', `["${'x'.repeat(1_000_000)}`, /more than 1000 characters/],
    ['a string of quotes', `["${'\\"'.repeat(1_000)}"]`, /more than 1000 characters/],
    ['a name that is too long', `[{"${'x'.repeat(1_000)}":1}]`, /more than 1000 characters/],
    ['a number that is too long', `[${'9'.repeat(1_001)}]`, /more than 1000 characters/],
    ['white space in an element', `[{${' '.repeat(1_000)}}]`, /more than 1000 characters/],
  ])('%s: rejected before anything is parsed', async (_name, text, message) => {
    const found = findElements(Buffer.from(text), bounds);
    await expect(found).rejects.toThrow(JsonBoundsError);
    await expect(found).rejects.toThrow(message);
  });

  test('a character of several bytes and an escape count once, and white space before an element does not', async () => {
    for (const text of ['図'.repeat(998), '\\n'.repeat(998), '\\u56f3'.repeat(998)]) {
      expect(await parse(`[${' '.repeat(600_000)}"${text}",${' '.repeat(600_000)}"${text}"]`, bounds)).toHaveLength(2);
      await expect(parse(`["${text}x"]`, bounds)).rejects.toThrow(JsonBoundsError);
    }
  });

  test('other work goes on while a long text is read', async () => {
    let worked = false;
    setImmediate(() => {
      worked = true;
    });
    await findElements(Buffer.from(`["${'x'.repeat(900_000)}"]`), wide);
    expect(worked).toBe(true);
  });
});
