import { describe, expect, test } from '@jest/globals';
import { z } from 'zod';
import { numberParameter } from '../api/number-parameter.js';
import { byId, pageQuery } from '../api/pagination.js';
import { read } from '../api/validation.js';

describe('Numbers in a query', () => {
  const schema = pageQuery(byId('dlv')).extend({ min_rating: numberParameter(z.number().min(-1).max(1)).optional() });
  const readQuery = (query: Record<string, string>) => read(schema, query, { parameters: true });

  test.each(['', ' 5', '+5', '0x10', '1e1', '1.', '.5', 'Infinity', '5 '])('are decimal: %j is rejected', (text) => {
    const invalid = (message: string) => expect.objectContaining({ code: 'INVALID_PARAMETERS', message });
    expect(() => readQuery({ limit: text })).toThrow(invalid('limit: must be a number'));
    expect(() => readQuery({ min_rating: text })).toThrow(invalid('min_rating: must be a number'));
  });

  test('become numbers', () => {
    expect(readQuery({ min_rating: '1e-7' })).toMatchObject({ min_rating: 1e-7 });
    expect(readQuery({ limit: '5', min_rating: '-0.5' })).toEqual({ limit: 5, min_rating: -0.5 });
    expect(readQuery({})).toEqual({ limit: 20 });
  });
});
