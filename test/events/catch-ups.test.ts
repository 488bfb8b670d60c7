import { describe, expect, test } from '@jest/globals';
import { createCatchUps } from '../../api/events/catch-ups.js';

describe('reading of missed events', () => {
  const { signal } = new AbortController();
  const never = new Promise<void>(() => undefined);
  const quickly = async (catchUps: ReturnType<typeof createCatchUps>, org: string) => {
    let read = 0;
    await catchUps.run(org, signal, async (step) => {
      for (; read < 10; read += 1) await step(async () => undefined);
    });
    return read;
  };

  test('goes on for others while slow clients of many organisations read what they have got', async () => {
    const catchUps = createCatchUps(2);
    const started = ['a', 'b', 'c'].map(
      (org) =>
        new Promise<void>((resolve) => {
          void catchUps.run(org, signal, async (step) => {
            await step(async () => undefined);
            resolve();
            await never;
          });
        }),
    );
    await Promise.all(started);
    expect(await quickly(catchUps, 'd')).toBe(10);
  });

  test('happens for one client of an organisation at a time', async () => {
    const catchUps = createCatchUps();
    const order: string[] = [];
    let finish = () => {};
    const first = catchUps.run('a', signal, async () => {
      order.push('first');
      await new Promise<void>((resolve) => {
        finish = resolve;
      });
    });
    const second = catchUps.run('a', signal, async () => void order.push('second'));
    expect(await quickly(catchUps, 'b')).toBe(10);
    expect(order).toEqual(['first']);
    finish();
    await Promise.all([first, second]);
    expect(order).toEqual(['first', 'second']);
  });

  test('ends after its time, and gives its turn back', async () => {
    const catchUps = createCatchUps(1, 20);
    const slow = catchUps.run('a', signal, async (step, limited) => {
      for (;;) {
        limited.throwIfAborted();
        await step(() => new Promise((resolve) => setTimeout(resolve, 5)));
      }
    });
    await expect(slow).rejects.toMatchObject({ name: 'TimeoutError' });
    await catchUps.run('a', signal, async () => undefined);
  });
});
