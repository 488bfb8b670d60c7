import { expect, test } from '@jest/globals';
import { adaptiveCache } from '../api/adaptive-cache.js';

/** A measurement that takes as long as it is told, on a clock of its own. */
function create() {
  let now = 0;
  let calls = 0;
  let takes = 0;
  const cached = adaptiveCache<number>(() => now);
  return {
    wait: (ms: number) => {
      now += ms;
    },
    takes: (ms: number) => {
      takes = ms;
    },
    ask: (key = 'org') =>
      cached(key, async () => {
        now += takes;
        calls += 1;
        return calls;
      }),
    fail: (key = 'org') => cached(key, async () => Promise.reject(new Error('not now'))),
  };
}

test('a measurement rests for twenty times as long as it took', async () => {
  const { ask, takes, wait } = create();
  takes(100);
  expect(await ask()).toBe(1);
  wait(1_999);
  expect(await ask()).toBe(1);
  wait(1);
  expect(await ask()).toBe(2);
});

test('a measurement that takes no time is made each time', async () => {
  const { ask } = create();
  expect([await ask(), await ask(), await ask()]).toEqual([1, 2, 3]);
});

test('it rests for half a minute at most', async () => {
  const { ask, takes, wait } = create();
  takes(60_000);
  await ask();
  wait(30_000);
  expect(await ask()).toBe(2);
});

test('requests at the same time share a measurement, and keys do not', async () => {
  const { ask, takes } = create();
  takes(10);
  expect(await Promise.all([ask(), ask(), ask('another')])).toEqual([1, 1, 2]);
});

test('a failure is not kept', async () => {
  const { ask, fail, takes } = create();
  takes(10);
  await expect(fail()).rejects.toThrow('not now');
  expect(await ask()).toBe(1);
});
