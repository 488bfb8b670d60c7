import { rmSync } from 'node:fs';
import { Socket } from 'node:net';
import { serialize, setFlagsFromString } from 'node:v8';
import { Worker } from 'node:worker_threads';
import { CHANNEL_FD, createChannel } from './channel.js';
import type { ChildOptions, FromChild, ToChild, Work } from './protocol.js';

/** Entry point of a child process. It runs one task at a time. */
const options = JSON.parse(process.argv[2]!) as ChildOptions;
/**
 * How long WebAssembly runs before V8 optimises it. Most children read one file or a page or two, and optimising the OCR
 * engine took more processor time than the first page. Set here, because Node does not start with an argument that its V8
 * does not know.
 */
const WASM_BUDGET = '--wasm-tiering-budget=40000000';
let parentTookPart = () => {};

const pipe = new Socket({ fd: CHANNEL_FD });
const { arrivals, send } = createChannel<FromChild, ToChild>(pipe);
arrivals.on('message', (message) => {
  if ('next' in message) parentTookPart();
  else void run(message.task);
});
// An end by an error is one, too: the parent is gone.
pipe.on('error', () => undefined);
pipe.on('close', () => {
  rmSync(options.folder, { recursive: true, force: true });
  process.exit();
});
/** A running task that does not wait for its parent. */
let isRunning = false;
// Emitted when nothing is in progress that could wake this process up, the pipe to the parent apart.
process.on('beforeExit', () => {
  whileWaitingForParent();
  if (isRunning) send({ stuck: true });
});
// A Ctrl-C reaches all processes of a terminal. The parent decides when this one ends.
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => undefined);
setFlagsFromString(WASM_BUDGET);
new Worker(new URL('./watchdog.js', import.meta.url), {
  workerData: options,
  resourceLimits: { maxOldGenerationSizeMb: 16, maxYoungGenerationSizeMb: 2 },
}).unref();
const work = import(options.worker).then((module) => module.default as Work<unknown, unknown, unknown>);
work.catch(() => undefined);

async function run(task: unknown): Promise<void> {
  let remaining = options.maxOutputBytes;
  /** @throws OutputExceeded */
  const pack = (value: unknown): Buffer => {
    const data = serialize(value);
    remaining -= data.length;
    if (remaining < 0) throw new OutputExceeded();
    return data;
  };
  whileWorking();
  try {
    const result = await (await work)(task, async (part) => {
      const taken = new Promise<void>((resolve) => {
        parentTookPart = resolve;
      });
      whileWaitingForParent();
      send({ part: pack(part) });
      await taken;
      whileWorking();
    });
    send({ result: pack(result), resident: process.memoryUsage.rss() });
  } catch (error) {
    if (error instanceof OutputExceeded) return send({ exceeded: 'output' });
    const { name, message, code, detail } = error as NodeJS.ErrnoException & { detail?: string };
    send({ error: { name, message, code, detail }, resident: process.memoryUsage.rss() });
  } finally {
    isRunning = false;
    whileWaitingForParent();
  }
}

/** The pipe does not keep this process alive, so that a task that waits for nothing is noticed. */
function whileWorking(): void {
  isRunning = true;
  pipe.unref();
}

function whileWaitingForParent(): void {
  pipe.ref();
}

class OutputExceeded extends Error {}
