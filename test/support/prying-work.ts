import { execFileSync } from 'node:child_process';
import { createSocket } from 'node:dgram';
import { lookup } from 'node:dns/promises';
import { once } from 'node:events';
import { readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { connect, createServer } from 'node:net';
import { dirname, join } from 'node:path';
import { Worker } from 'node:worker_threads';
import type { Work } from '../../providers/isolation/protocol.js';

/** What a parser may try when a file controls it. */
export interface Attempt {
  /** The file of the task. */
  path: string;
  /** A file outside. */
  outside: string;
  /** A file of a folder that its pool names. */
  data: string;
  /** Where something listens. */
  port: number;
}

/** Not in the types: it sends the signal that starts the debugger of a process. */
interface Debugging {
  _debugProcess(pid: number): void;
}

/** Reads a file in a thread, which is started with these options. */
async function readInThread(file: string, options: object): Promise<string> {
  const thread = new Worker(new URL('./prying-thread.js', import.meta.url), { workerData: file, ...options });
  const [outcome] = (await once(thread, 'message')) as [{ read: string } | { error: NodeJS.ErrnoException }];
  if ('error' in outcome) throw Object.assign(new Error('in a thread'), outcome.error);
  return outcome.read;
}

async function connected(port: number): Promise<void> {
  const socket = connect(port, '127.0.0.1');
  await once(socket, 'connect');
}

/** @returns what became of each attempt: its result, or the code of its error */
const work: Work<Attempt, Record<string, unknown>> = async ({ path, outside, data, port }) => {
  const folder = dirname(path);
  const attempts: Record<string, () => unknown> = {
    'list its folder': () => readdirSync(folder),
    'read the file of the task': () => readFileSync(path, 'utf8'),
    'write beside it': () => writeFileSync(join(folder, 'attachment'), 'text'),
    'read the data of its pool': () => readFileSync(data, 'utf8'),
    'write to the data of its pool': () => writeFileSync(data, 'changed'),
    'read the environment of the worker': () => readFileSync(`/proc/${process.ppid}/environ`),
    'read a file outside': () => readFileSync(outside),
    'read a file outside by a link': () => {
      symlinkSync(outside, join(folder, 'link'));
      return readFileSync(join(folder, 'link'));
    },
    'write a file outside': () => writeFileSync(outside, 'changed'),
    'start a process': () => execFileSync(process.execPath, ['--version']),
    'load a native addon': () => process.dlopen({ exports: {} }, '/nowhere.node'),
    'read a file outside in a thread': () => readInThread(outside, {}),
    'read a file outside in a thread with arguments of its own': () => readInThread(outside, { execArgv: [] }),
    'read a file outside in a thread with variables of its own': () =>
      readInThread(outside, { env: { NODE_OPTIONS: '--permission --allow-fs-read=*' } }),
    'open a socket': () => connected(port),
    'listen on a socket': () => once(createServer().listen(0), 'listening'),
    fetch: () =>
      fetch(`http://127.0.0.1:${port}`).then(
        () => 'done',
        (error) => Promise.reject(error.cause ?? error),
      ),
    'open a database outside': async () => {
      const { DatabaseSync } = await import('node:sqlite');
      new DatabaseSync(`${outside}.db`).exec('create table stolen (text)');
    },
    'end the worker': () => process.kill(process.ppid, 0),
    'debug the worker': () => (process as unknown as Debugging)._debugProcess(process.ppid),
    'send a datagram': () => createSocket('udp4').send('text', port, '127.0.0.1'),
    'look up a name': () => lookup('localhost'),
  };
  const outcomes: Record<string, unknown> = {};
  for (const [name, attempt] of Object.entries(attempts)) {
    try {
      outcomes[name] = (await attempt()) ?? 'done';
    } catch (error) {
      outcomes[name] = (error as NodeJS.ErrnoException).code ?? String(error);
    }
  }
  return outcomes;
};
export default work;
