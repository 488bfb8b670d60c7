import { readFile } from 'node:fs/promises';
import { setImmediate } from 'node:timers/promises';
import { parentPort, workerData } from 'node:worker_threads';
import { Tokenizer } from '@huggingface/tokenizers';
import { InferenceSession, Tensor } from 'onnxruntime-node';
import { batchByLength } from './batching.js';
import {
  type EmbedRequest,
  LOCAL_DIMENSIONS,
  RUNNING,
  STOPPING,
  type StopRequest,
  type WorkerMessage,
  type WorkerSettings,
} from './protocol.js';

/** The thread that holds the model: tokenises, batches, runs; a question goes before the next batch of documents. */

const MAX_TOKENS = 512;
/** More characters than 512 tokens of any prose; spares tokenising what is cut off anyway. */
const MAX_CHARACTERS = 8_192;
/** Tokens of one run, padding included: larger batches are no faster, take more memory, and keep a question waiting. */
const BATCH_TOKENS = 512;

interface Encoded {
  number: number;
  ids: number[];
}

const port = parentPort!;
const settings = workerData as WorkerSettings;
const state = new Int32Array(settings.state);
const questions: Encoded[] = [];
const documents: Encoded[][] = [];
let running = false;

const loaded = load(settings);
loaded.then(
  () => post({ ready: true }),
  (error: Error) => post({ broken: error.message }),
);

port.on('message', (request: EmbedRequest | StopRequest) => {
  if ('stop' in request) {
    questions.length = 0;
    documents.length = 0;
    // Nothing else keeps the thread alive, once the load or the batch under way is done.
    port.close();
    return;
  }
  const { texts, urgent } = request;
  loaded.then(
    ({ tokenizer }) => {
      const encoded = texts.map(({ number, text }) => ({ number, ids: encode(tokenizer, text) }));
      if (urgent) questions.push(...encoded);
      else documents.push(...batchByLength(encoded, BATCH_TOKENS));
      void work();
    },
    () => undefined,
  );
});

async function load({ modelPath, tokenizerPath, threads }: WorkerSettings) {
  const tokenizer = new Tokenizer(JSON.parse(await readFile(tokenizerPath, 'utf8')), {});
  const session = await natively(() =>
    InferenceSession.create(modelPath, {
      // Without them the process stays at a third of the memory, for a few percent of the speed.
      enableCpuMemArena: false,
      enableMemPattern: false,
      ...(threads === undefined ? {} : { intraOpNumThreads: threads }),
      // Its threads would spin while they wait for each other: on busy cores that doubles the time and the work.
      extra: { session: { intra_op: { allow_spinning: '0' } } },
      logSeverityLevel: 3,
    }),
  );
  return { tokenizer, session };
}

function encode(tokenizer: Tokenizer, text: string): number[] {
  const { ids } = tokenizer.encode(text.slice(0, MAX_CHARACTERS));
  if (ids.length <= MAX_TOKENS) return ids;
  return [...ids.slice(0, MAX_TOKENS - 1), ids.at(-1)!];
}

async function work(): Promise<void> {
  if (running) return;
  running = true;
  try {
    for (;;) {
      // The model runs on this thread; between two batches the port must get its turn, or questions would wait.
      await setImmediate();
      const batch = questions.length > 0 ? takeQuestions() : documents.shift();
      if (!batch) return;
      await answer(batch);
    }
  } finally {
    running = false;
  }
}

function takeQuestions(): Encoded[] {
  const [first] = batchByLength(questions, BATCH_TOKENS);
  for (const taken of first!) questions.splice(questions.indexOf(taken), 1);
  return first!;
}

async function answer(batch: Encoded[]): Promise<void> {
  const numbers = batch.map(({ number }) => number);
  try {
    const vectors = await infer(batch.map(({ ids }) => ids));
    port.postMessage({ numbers, vectors: vectors.buffer } satisfies WorkerMessage, [vectors.buffer]);
  } catch (error) {
    post({ numbers, failed: (error as Error).message });
  }
}

/** @returns the vectors one after the other: the model's first (CLS) token, at unit length, as bge wants it */
async function infer(batch: readonly (readonly number[])[]): Promise<Float32Array<ArrayBuffer>> {
  const { session } = await loaded;
  const length = Math.max(...batch.map((ids) => ids.length));
  const ids = new BigInt64Array(batch.length * length);
  const mask = new BigInt64Array(batch.length * length);
  for (const [row, tokens] of batch.entries()) {
    for (const [at, id] of tokens.entries()) {
      ids[row * length + at] = BigInt(id);
      mask[row * length + at] = 1n;
    }
  }
  const shape = [batch.length, length];
  const feeds: Record<string, Tensor> = {
    input_ids: new Tensor('int64', ids, shape),
    attention_mask: new Tensor('int64', mask, shape),
    token_type_ids: new Tensor('int64', new BigInt64Array(ids.length), shape),
  };
  const output = (await natively(() => session.run(feeds)))[session.outputNames[0]!]!;
  const states = output.data as Float32Array;
  const vectors = new Float32Array(batch.length * LOCAL_DIMENSIONS);
  for (let row = 0; row < batch.length; row += 1) {
    const start = row * length * LOCAL_DIMENSIONS;
    const first = states.subarray(start, start + LOCAL_DIMENSIONS);
    const norm = Math.hypot(...first);
    for (let at = 0; at < LOCAL_DIMENSIONS; at += 1) vectors[row * LOCAL_DIMENSIONS + at] = first[at]! / norm;
  }
  output.dispose();
  return vectors;
}

/** Marks the time in native code, and does not enter it any more once the process is ending. */
async function natively<T>(run: () => Promise<T>): Promise<T> {
  Atomics.store(state, RUNNING, 1);
  try {
    if (Atomics.load(state, STOPPING) === 1) throw new Error('the process is ending');
    return await run();
  } finally {
    Atomics.store(state, RUNNING, 0);
    Atomics.notify(state, RUNNING);
  }
}

function post(message: WorkerMessage): void {
  port.postMessage(message);
}
