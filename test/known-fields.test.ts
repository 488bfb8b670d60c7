import { describe, expect, test } from '@jest/globals';
import { z } from 'zod';
import { checkFields } from '../api/known-fields.js';
import { read } from '../api/validation.js';

/** Alternatives of which each has a field of the same name, with fields of its own. */
const schema = z.union([
  z.object({ kind: z.literal('a'), settings: z.object({ url: z.string(), depth: z.int().optional() }) }),
  z.object({
    kind: z.literal('b'),
    settings: z.object({ bucket: z.string(), parts: z.array(z.object({ n: z.int() })) }),
  }),
]);

describe('fields within alternatives', () => {
  test('null for an optional one is removed', () => {
    const value = { kind: 'a', settings: { url: 'x', depth: null } };
    expect(checkFields(schema, value).given).toEqual({ kind: 'a', settings: { url: 'x' } });
  });

  test('an unknown one is found, with the known name nearest to it', () => {
    expect(checkFields(schema, { kind: 'a', settings: { url: 'x', dept: 1 } }).unknown).toEqual({
      path: ['settings', 'dept'],
      meant: 'depth',
    });
    expect(checkFields(schema, { kind: 'b', settings: { bucket: 'x', parts: [{ n: 1 }, { m: 2 }] } }).unknown).toEqual({
      path: ['settings', 'parts', 1, 'm'],
      meant: 'n',
    });
    expect(checkFields(schema, { kind: 'b', settings: { bucket: 'x', parts: [{ n: 1 }] } }).unknown).toBeNull();
  });
});

test('the fields of a list are gathered once for all its elements', () => {
  let gathered = 0;
  const element = z.lazy(() => {
    gathered += 1;
    return z.object({ n: z.int(), note: z.string().optional() });
  });
  const elements = Array.from({ length: 100 }, (_, n) => ({ n, note: null }));
  const { given, unknown } = checkFields(z.object({ elements: z.array(element) }), { elements });
  expect([given, unknown]).toEqual([{ elements: elements.map(({ n }) => ({ n })) }, null]);
  expect(gathered).toBe(1);
});

test.each(['__proto__', 'constructor', 'toString'])('a message names the unknown field %s as it was sent', (name) => {
  const value: unknown = JSON.parse(`{"${name}": 1}`);
  expect(() => read(z.object({}), value)).toThrow(`${name}: is not known`);
});
