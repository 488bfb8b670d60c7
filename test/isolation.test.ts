import { fork } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { createProcessPool, type ProcessPool } from '../providers/isolation/pool.js';
import { eventually } from './support/eventually.js';
import type { Behaviour } from './support/hostile-work.js';
import type { Attempt } from './support/prying-work.js';

const worker = new URL('./support/hostile-work.js', import.meta.url);

describe('work on foreign input in child processes', () => {
  const STUCK = 'The task waits for something that never happens.';
  let pool: ProcessPool<Behaviour, unknown, number>;

  beforeAll(() => {
    process.env.POSTBACK_SEALING_KEY = 'secret';
    const limits = { memoryMb: 64, residentMb: 192, maxOutputBytes: 1024 * 1024, timeoutMs: 120_000 };
    pool = createProcessPool({ worker, processes: 1, ...limits });
  });
  afterAll(async () => {
    delete process.env.POSTBACK_SEALING_KEY;
    await pool.close();
  });

  const pid = () => pool.run('pid') as Promise<number>;

  test('a task returns its parts in order and its result, and sees no secret of the parent', async () => {
    const parts: number[] = [];
    const result = await pool.run('work', undefined, async (part) => void parts.push(part));
    expect({ parts, result }).toEqual({ parts: [1, 2, 3], result: 'no secret' });
  });

  test('an error of a task arrives with its code, and the process serves the next task', async () => {
    const before = await pid();
    await expect(pool.run('fail')).rejects.toMatchObject({ message: 'not this one', code: 'ENOENT' });
    expect(await pid()).toBe(before);
  });

  test.each([
    ['fills the heap', 'fill the heap', { name: 'TaskLimitError', limit: 'memory' }],
    ['fills native memory', 'fill native memory', { name: 'TaskLimitError', limit: 'memory' }],
    ['returns too much', 'return too much', { name: 'TaskLimitError', limit: 'output' }],
    ['crashes in native code', 'crash', { name: 'ProcessLostError' }],
    ['sends bytes that are no message', 'send garbage', { name: 'ProcessLostError' }],
    ['announces a message without end', 'announce too much', { name: 'ProcessLostError' }],
    ['waits for nothing', 'wait for nothing', { name: 'TaskLimitError', message: STUCK }],
    ['waits for nothing after a part', 'wait for a part and then for nothing', { message: STUCK }],
  ] as const)('a task that %s ends alone, and the next task runs', async (_, behaviour, error) => {
    await expect(pool.run(behaviour, undefined, async () => undefined)).rejects.toMatchObject(error);
    expect(await pool.run('work', undefined, async () => undefined)).toBe('no secret');
  });

  test('a task that never ends is ended after its time', async () => {
    const short = createProcessPool<Behaviour, unknown>({ worker, processes: 1, memoryMb: 64, timeoutMs: 500 });
    await expect(short.run('spin')).rejects.toMatchObject({ name: 'TaskLimitError', limit: 'time' });
    await short.close();
  });

  test('a process that cannot be started takes no slot', async () => {
    const { execPath } = process;
    const single = createProcessPool<Behaviour, unknown>({ worker, processes: 1, memoryMb: 64, timeoutMs: 60_000 });
    process.execPath = '/nowhere/node';
    for (let n = 0; n < 2; n += 1) await expect(single.run('pid')).rejects.toThrow('no process could be started');
    process.execPath = execPath;
    expect(await single.run('pid')).toEqual(expect.any(Number));
    await single.close();
  });

  test('a task that waits long for its parent is not stuck', async () => {
    const before = await pid();
    const slowly = async () => new Promise<void>((resolve) => setTimeout(resolve, 300));
    expect(await pool.run('work', undefined, slowly)).toBe('no secret');
    expect(await pid()).toBe(before);
  });

  test('an error of the taker of a part ends the task', async () => {
    const reason = new Error('storage is away');
    await expect(pool.run('work', undefined, () => Promise.reject(reason))).rejects.toBe(reason);
    expect(await pool.run('work', undefined, async () => undefined)).toBe('no secret');
  });

  test('an aborted task is killed with its process', async () => {
    const stopped = new AbortController();
    const before = await pid();
    const spinning = pool.run('spin', stopped.signal);
    stopped.abort(new Error('cancelled'));
    await expect(spinning).rejects.toThrow('cancelled');
    expect(() => process.kill(before, 0)).toThrow(/ESRCH/);
  });

  test('the tasks of several organisations take turns', async () => {
    const order: string[] = [];
    const runFor = (org: string) => pool.run('pid', undefined, undefined, org).then(() => void order.push(org));
    await Promise.all([...['a', 'a', 'a', 'a', 'a'].map(runFor), runFor('b')]);
    expect(order.indexOf('b')).toBeLessThanOrEqual(2);
  });

  test('where memory is short, the system is told to take this process first', async () => {
    if (process.platform !== 'linux') return;
    expect(readFileSync(`/proc/${await pid()}/oom_score_adj`, 'utf8').trim()).toBe('1000');
  });

  test('a process leaves processors to the product', async () => {
    if (process.platform !== 'linux') return;
    const folder = `/proc/${await pid()}/task`;
    const niceness = readdirSync(folder).map((thread) => {
      const fields = readFileSync(`${folder}/${thread}/stat`, 'utf8').split(') ').at(-1)!.split(' ');
      return Number(fields[16]);
    });
    expect(new Set(niceness)).toEqual(new Set([5]));
  });

  test('a busy process does not outlive its parent', async () => {
    const parent = fork(fileURLToPath(new URL('./support/dies-beside-child.js', import.meta.url)));
    const [child] = (await once(parent, 'message')) as [number];
    parent.kill('SIGKILL');
    await eventually('the child is gone', () => {
      try {
        return !process.kill(child, 0);
      } catch {
        return true;
      }
    });
  });
});

describe('work on foreign input is confined', () => {
  const prying = new URL('./support/prying-work.js', import.meta.url);
  let folder: string;
  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), 'postback-prying-'));
  });
  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  test('it reads the file of its task, writes beside it, and reaches nothing else', async () => {
    const [path, outside] = [join(folder, 'task'), join(folder, 'outside')];
    const data = join(folder, 'data', 'file');
    mkdirSync(dirname(data));
    for (const file of [path, outside, data]) writeFileSync(file, 'text');
    // It answers, so that a request that gets through ends, and the test names it.
    const server = createServer((socket) => socket.end('HTTP/1.1 204 No Content\r\n\r\n')).listen(0, '127.0.0.1');
    await once(server, 'listening');
    const { port } = server.address() as { port: number };
    const pool = createProcessPool<Attempt, Record<string, unknown>>({
      worker: prying,
      processes: 1,
      memoryMb: 64,
      timeoutMs: 60_000,
      readable: [dirname(data)],
    });
    const attempt = { path, outside, data, port };
    await pool.run(attempt);
    const {
      'list its folder': listed,
      'read the file of the task': read,
      'read the data of its pool': dataRead,
      'write beside it': written,
      'load a native addon': loaded,
      'open a database outside': database,
      ...others
    } = await pool.run(attempt);
    await pool.close();
    server.close();
    // What the first run wrote is gone.
    expect(listed).toEqual(['path']);
    expect({ read, dataRead, written, loaded, database }).toEqual({
      read: 'text',
      dataRead: 'text',
      written: 'done',
      loaded: 'ERR_DLOPEN_DISABLED',
      database: 'ERR_UNKNOWN_BUILTIN_MODULE',
    });
    expect(others).toEqual(Object.fromEntries(Object.keys(others).map((name) => [name, 'ERR_ACCESS_DENIED'])));
    expect(Object.keys(others)).toHaveLength(16);
    for (const file of [outside, data]) expect(readFileSync(file, 'utf8')).toBe('text');
  });

  test('its folder is removed when its parent is killed', async () => {
    const temporary = join(folder, 'temporary');
    mkdirSync(temporary);
    const parent = fork(fileURLToPath(new URL('./support/dies-beside-child.js', import.meta.url)), {
      env: { ...process.env, TMPDIR: temporary },
    });
    await once(parent, 'message');
    expect(readdirSync(temporary)).toEqual([expect.stringMatching(/^postback-reader-/)]);
    parent.kill('SIGKILL');
    await eventually('the folder is gone', () => readdirSync(temporary).length === 0);
  });
});
