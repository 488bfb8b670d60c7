import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { JsonBoundsError, parseBoundedJson } from '../domain/bounded-json.js';

const bounds = { maxDepth: 4, maxValues: 20 };

describe('JSON within bounds', () => {
  test('is parsed as JSON.parse does, whatever its strings contain', () => {
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        const text = JSON.stringify(value);
        expect(parseBoundedJson(text, { maxDepth: 1_000, maxValues: 100_000 })).toEqual(JSON.parse(text));
      }),
    );
  });

  test('brackets, commas and quotes inside strings do not count', () => {
    const text = JSON.stringify(['[[[[[[,,,,,,,,,,,,"\\', '{{{{{{"""']);
    expect(parseBoundedJson(text, bounds)).toEqual(['[[[[[[,,,,,,,,,,,,"\\', '{{{{{{"""']);
  });

  test.each([
    ['too many values', `{"a":[[${'0,'.repeat(30)}0]]}`, /more than 20 values/],
    ['too many empty objects', `[[${'{},'.repeat(30)}{}]]`, /more than 20 values/],
    ['too many levels', '[[[[[]]]]]', /deeper than 4 levels/],
    ['levels that are never closed', '['.repeat(1_000_000), /deeper than 4 levels/],
  ])('%s are rejected before the text is parsed', (_name, text, message) => {
    const parse = () => parseBoundedJson(text, bounds);
    expect(parse).toThrow(JsonBoundsError);
    expect(parse).toThrow(message);
  });

  test('text that is not JSON is a syntax error', () => {
    for (const text of ['', '{', '"open', '"\\"', 'nonsense', '[1,2']) {
      expect(() => parseBoundedJson(text, bounds)).toThrow(SyntaxError);
    }
  });
});
