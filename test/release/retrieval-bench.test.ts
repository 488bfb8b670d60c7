import { describe, expect, test } from '@jest/globals';
import { mean, normalisedGain } from '../../bench/support/measure.js';

describe('the measure of the retrieval benchmarks', () => {
  test('the gain is 1 with all relevant documents first, decreases with their places, and is 0 without them', () => {
    expect(normalisedGain(['a', 'b', 'x'], new Set(['a', 'b']))).toBe(1);
    expect(normalisedGain(['x', 'a'], new Set(['a']))).toBeCloseTo(1 / Math.log2(3));
    expect(normalisedGain(['x'], new Set(['a']))).toBe(0);
    expect(normalisedGain(['x'], new Set())).toBe(0);
    expect(mean([1, 0])).toBe(0.5);
  });
});
