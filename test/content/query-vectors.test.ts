import { describe, expect, test } from '@jest/globals';
import { createQueryVectors } from '../../domain/content/query-vectors.js';

describe('vectors of queries', () => {
  /** Returns the number of the call as the vector. */
  function counting(fails: (call: number) => boolean = () => false) {
    const model = {
      model: 'counting',
      dimensions: 1,
      calls: 0,
      async embedQuery() {
        model.calls += 1;
        if (fails(model.calls)) throw new Error('no model');
        return Float32Array.of(model.calls);
      },
    };
    const { get } = createQueryVectors();
    const vectors = { get: (database: string, query: string) => get(model, database, query, 'acme') };
    return { model, vectors };
  }

  test('are computed once for a query that is repeated, also at the same time', async () => {
    const { model, vectors } = counting();
    const all = await Promise.all([vectors.get('a', 'tea'), vectors.get('a', 'tea')]);
    expect([...all, await vectors.get('a', 'tea')]).toEqual([1, 1, 1].map((n) => Float32Array.of(n)));
    expect(model.calls).toBe(1);
  });

  test('are not shared between databases or queries', async () => {
    const { model, vectors } = counting();
    for (const [database, query] of [
      ['a', 'tea'],
      ['b', 'tea'],
      ['a', 'coffee'],
    ] as const) {
      await vectors.get(database, query);
    }
    expect(model.calls).toBe(3);
  });

  test('are computed again after an error', async () => {
    const { vectors } = counting((call) => call === 1);
    await expect(vectors.get('a', 'tea')).rejects.toThrow('no model');
    expect(await vectors.get('a', 'tea')).toEqual(Float32Array.of(2));
  });

  test('are dropped when a thousand other queries have followed the last use', async () => {
    const { model, vectors } = counting();
    await vectors.get('a', 'rare');
    for (let n = 0; n < 500; n += 1) await vectors.get('a', `first ${n}`);
    await vectors.get('a', 'rare');
    expect(model.calls).toBe(501);
    for (let n = 0; n < 1_000; n += 1) await vectors.get('a', `second ${n}`);
    await vectors.get('a', 'rare');
    expect(model.calls).toBe(1_502);
  });
});
