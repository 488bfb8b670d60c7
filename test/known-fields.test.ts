import { describe, expect, test } from '@jest/globals';
import { z } from 'zod';
import { findUnknown, withoutNulls } from '../api/known-fields.js';
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
    expect(withoutNulls(schema, value)).toEqual({ kind: 'a', settings: { url: 'x' } });
  });

  test('an unknown one is found, with the known name nearest to it', () => {
    expect(findUnknown(schema, { kind: 'a', settings: { url: 'x', dept: 1 } })).toEqual({
      path: ['settings', 'dept'],
      meant: 'depth',
    });
    expect(findUnknown(schema, { kind: 'b', settings: { bucket: 'x', parts: [{ n: 1 }, { m: 2 }] } })).toEqual({
      path: ['settings', 'parts', 1, 'm'],
      meant: 'n',
    });
    expect(findUnknown(schema, { kind: 'b', settings: { bucket: 'x', parts: [{ n: 1 }] } })).toBeNull();
  });
});

test.each(['__proto__', 'constructor', 'toString'])('a message names the unknown field %s as it was sent', (name) => {
  const value: unknown = JSON.parse(`{"${name}": 1}`);
  expect(() => read(z.object({}), value)).toThrow(`${name}: is not known`);
});
