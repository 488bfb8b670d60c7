import { readFileSync } from 'node:fs';
import { Agent, get } from 'node:http';
import { setTimeout as wait } from 'node:timers/promises';
import { parentPort, workerData } from 'node:worker_threads';
import type { Stall } from './probe.js';

/** Pause between two requests. */
const EVERY_MS = 20;

/**
 * Asks a process for its health again and again, and keeps the longest wait. It runs in a thread of its own, because the
 * main thread generates what the cases send.
 */
const { url, pid } = workerData as { url: string; pid: number };
const agent = new Agent({ keepAlive: true, maxSockets: 1 });
let longest: Stall = { wall: 0, net: 0 };
let process = pid;

parentPort!.on('message', (next: number) => {
  process = next;
  parentPort!.postMessage(longest);
  longest = { wall: 0, net: 0 };
});

for (;;) {
  const waited = await measure();
  if (waited.net > longest.net) longest = waited;
  await wait(EVERY_MS);
}

async function measure(): Promise<Stall> {
  const target = process;
  const before = [times(`${target}`), times('thread-self')] as const;
  const started = performance.now();
  await request();
  const wall = performance.now() - started;
  const [running, queued] = difference(times(`${target}`), before[0]);
  const [, ownQueued] = difference(times('thread-self'), before[1]);
  return { wall, net: Math.max(running, wall - queued - ownQueued) };
}

/** Resolves at the response, and also when the process is gone. */
function request(): Promise<void> {
  return new Promise((resolve) => {
    get(url, { agent, timeout: 120_000 }, (response) => response.resume().once('close', resolve))
      .once('error', () => resolve())
      .once('timeout', () => resolve());
  });
}

/** Milliseconds for which the main thread of a process has run, and has waited for a processor; 0 without /proc. */
function times(name: string): [number, number] {
  try {
    const [running, queued] = readFileSync(`/proc/${name}/schedstat`, 'utf8').split(' ');
    return [Number(running) / 1e6, Number(queued) / 1e6];
  } catch {
    return [0, 0];
  }
}

function difference(after: [number, number], before: [number, number]): [number, number] {
  return [Math.max(0, after[0] - before[0]), Math.max(0, after[1] - before[1])];
}
