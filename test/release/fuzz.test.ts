import { afterAll, describe, expect, test } from '@jest/globals';
import { crews, files, forms, fuzz, listings, type Target } from '../../bench/fuzz/index.js';

/** Fixed, so that a run repeats the last one. `npm run bench -- fuzz` takes another one each time. */
const SEED = 20_261_122;

// No crash, no stall, and no error other than the documented ones.
describe('mutated input', () => {
  const open: Target[] = [];
  afterAll(() => Promise.all(open.map((target) => target.close())));

  test.each<[string, number, () => Target | Promise<Target>]>([
    ['files', 200, () => files({ slow: false })],
    ['sitemaps, feeds, listings, pages and robots.txt', 110, listings],
    ['multipart requests', 110, forms],
    ["crews' files", 100, crews],
  ])('%s: %i cases', async (_what, cases, create) => {
    const target = await create();
    open.push(target);
    expect(target.samples.length).toBeGreaterThan(0);
    expect(await fuzz(target, cases, SEED)).toBeUndefined();
  });

  test('a reader that fails is found, and the case is made small', async () => {
    const brittle: Target = {
      samples: [{ name: 'zeros', bytes: Buffer.alloc(100) }],
      read: async (bytes) => {
        if (bytes.includes(0xff)) throw new Error('cannot read 255');
      },
      close: async () => undefined,
    };
    expect(await fuzz(brittle, 300, SEED)).toMatch(/^seed 20261122: zeros after .*cannot read 255/s);
  });
});
