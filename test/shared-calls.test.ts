import { beforeEach, describe, expect, test } from '@jest/globals';
import { createSharedCalls, createSharedReads } from '../domain/shared-calls.js';

describe('calls that arrive while another runs', () => {
  /** The inputs of each call so far, and the functions that end the running ones. */
  let calls: string[][];
  let running: Map<string, (error?: Error) => void>;
  let call: (input: string) => Promise<string>;

  beforeEach(() => {
    calls = [];
    running = new Map();
    call = createSharedCalls<string, string>({
      keyOf: ([key]) => key!,
      call: (inputs) =>
        new Promise((resolve, reject) => {
          calls.push([...inputs]);
          running.set(inputs[0]!, (error) => (error ? reject(error) : resolve(inputs.map((input) => `${input}!`))));
        }),
    });
  });

  const next = () => new Promise((resume) => setImmediate(resume));

  test('share the next one, and each gets its own result', async () => {
    const first = call('a1');
    const others = ['a2', 'a3', 'a4'].map(call);
    expect(calls).toEqual([['a1']]);
    running.get('a1')!();
    expect(await first).toBe('a1!');
    await next();
    expect(calls).toEqual([['a1'], ['a2', 'a3', 'a4']]);
    running.get('a2')!();
    expect(await Promise.all(others)).toEqual(['a2!', 'a3!', 'a4!']);
  });

  test('begin with the first two, where two may run at once', async () => {
    const two = createSharedCalls<string, string>({
      keyOf: () => 'a',
      atOnce: 2,
      call: async (inputs) => {
        calls.push([...inputs]);
        return inputs;
      },
    });
    expect(await Promise.all(['a1', 'a2', 'a3', 'a4'].map(two))).toEqual(['a1', 'a2', 'a3', 'a4']);
    expect(calls).toEqual([['a1'], ['a2'], ['a3', 'a4']]);
  });

  test('of another key do not wait', async () => {
    void call('a1');
    const other = call('b1');
    expect(calls).toEqual([['a1'], ['b1']]);
    running.get('b1')!();
    expect(await other).toBe('b1!');
  });

  test('do not wait for long when it hangs', async () => {
    void call('a1');
    const other = call('a2');
    while (!running.has('a2')) await next();
    running.get('a2')!();
    expect(await other).toBe('a2!');
  });

  test('do not fail with it', async () => {
    const first = call('a1');
    const other = call('a2');
    running.get('a1')!(new Error('lost'));
    await expect(first).rejects.toThrow('lost');
    await next();
    running.get('a2')!();
    expect(await other).toBe('a2!');
    expect(calls).toHaveLength(2);
  });
});

test('a shared read begins after each of the calls that get its result', async () => {
  let value = 0;
  let reads = 0;
  const read = createSharedReads(
    (key: string) => key,
    async () => {
      const seen = value;
      reads += 1;
      await new Promise((resume) => setImmediate(resume));
      return seen;
    },
  );
  const early = read('counter');
  value = 1;
  const late = Array.from({ length: 10 }, () => read('counter'));
  expect(await early).toBe(0);
  expect(await Promise.all(late)).toEqual(Array(10).fill(1));
  expect(reads).toBe(2);
});
