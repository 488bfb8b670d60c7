/** The thread with the embedding model. It tokenises, batches and embeds texts, queries first, and documents in a share. */
import { readFileSync } from 'node:fs';
import { setImmediate } from 'node:timers/promises';
import { parentPort, workerData } from 'node:worker_threads';
import { Tokenizer } from '@huggingface/tokenizers';
import { InferenceSession, Tensor } from 'onnxruntime-node';
import { batchByLength } from './batching.js';
import { fuseModel } from './fused-model.js';
import {
  type EmbedRequest,
  RUNNING,
  STOPPING,
  type StopRequest,
  type WorkerMessage,
  type WorkerSettings,
} from './local-protocol.js';
import { MAX_CHARACTERS } from './socket-protocol.js';

/** Tokens of one run. Larger batches are not faster, take more memory and delay queries. */
const BATCH_TOKENS = 256;
/** Batches of queries in a row while documents wait, which so have at least a third of the batches. */
const QUERIES_FIRST = 2;

interface Encoded {
  number: number;
  ids: number[];
}

const port = parentPort!;
const settings = workerData as WorkerSettings;
const state = new Int32Array(settings.state);
const queries: Encoded[] = [];
const documents: Encoded[][] = [];
let running = false;
let queriesInARow = 0;

const loaded = load(settings);
loaded.then(
  () => post({ ready: true }),
  (error: Error) => post({ broken: error.message }),
);

port.on('message', (request: EmbedRequest | StopRequest) => {
  if ('stop' in request) {
    queries.length = 0;
    documents.length = 0;
    // After the running load or batch, nothing else keeps the thread alive.
    port.close();
    return;
  }
  const { texts, urgent } = request;
  loaded.then(
    ({ tokenizer }) => {
      const encoded = texts.map(({ number, text }) => ({ number, ids: encode(tokenizer, text) }));
      if (urgent) queries.push(...encoded);
      else documents.push(...batchByLength(encoded, BATCH_TOKENS));
      void work();
    },
    () => undefined,
  );
});

async function load({ modelPath, tokenizerPath, model: { heads } }: WorkerSettings) {
  const tokenizer = new Tokenizer(JSON.parse(readFileSync(tokenizerPath, 'utf8')), {});
  const file = readFileSync(modelPath);
  const model = heads === undefined ? file : fuseModel(file, heads);
  const session = await inNativeCode(() =>
    InferenceSession.create(model, {
      // Without these the process needs a third of the memory and is a few percent slower.
      enableCpuMemArena: false,
      enableMemPattern: false,
      // Each thread of this process has a core of its own. Threads of one operator would wait for each other.
      intraOpNumThreads: 1,
      logSeverityLevel: 3,
    }),
  );
  // At once: they are large, and the collector would leave them for long. Small ones are parts of a buffer that others use.
  for (const { buffer, byteLength } of new Set([file, model])) {
    if (buffer instanceof ArrayBuffer && buffer.byteLength === byteLength) buffer.transfer(0);
  }
  return { tokenizer, session };
}

function encode(tokenizer: Tokenizer, text: string): number[] {
  const { ids } = tokenizer.encode(text.slice(0, MAX_CHARACTERS));
  const { max_tokens } = settings.model;
  if (ids.length <= max_tokens) return ids;
  return [...ids.slice(0, max_tokens - 1), ids.at(-1)!];
}

async function work(): Promise<void> {
  if (running) return;
  running = true;
  try {
    for (;;) {
      // The model runs on this thread. Between batches the port receives messages, so that queries need not wait.
      await setImmediate();
      const ofQueries = queries.length > 0 && (documents.length === 0 || queriesInARow < QUERIES_FIRST);
      queriesInARow = ofQueries ? queriesInARow + 1 : 0;
      const batch = ofQueries ? takeQueries() : documents.shift();
      if (!batch) return;
      await embedBatch(batch);
    }
  } finally {
    running = false;
  }
}

function takeQueries(): Encoded[] {
  const [first] = batchByLength(queries, BATCH_TOKENS);
  for (const query of first!) queries.splice(queries.indexOf(query), 1);
  return first!;
}

async function embedBatch(batch: Encoded[]): Promise<void> {
  const numbers = batch.map(({ number }) => number);
  try {
    const vectors = await infer(batch.map(({ ids }) => ids));
    port.postMessage({ numbers, vectors: vectors.buffer } satisfies WorkerMessage, [vectors.buffer]);
  } catch (error) {
    post({ numbers, failed: (error as Error).message });
  }
}

/** @returns the concatenated vectors at unit length. @throws Error when the model has another number of dimensions */
async function infer(batch: readonly (readonly number[])[]): Promise<Float32Array<ArrayBuffer>> {
  const { session } = await loaded;
  const shape = [batch.length, batch[0]!.length];
  const ids = BigInt64Array.from(batch.flat(), BigInt);
  const inputs: Record<string, BigInt64Array> = {
    input_ids: ids,
    attention_mask: new BigInt64Array(ids.length).fill(1n),
    token_type_ids: new BigInt64Array(ids.length),
  };
  const feeds = Object.fromEntries(session.inputNames.map((name) => [name, new Tensor('int64', inputs[name]!, shape)]));
  const output = (await inNativeCode(() => session.run(feeds)))[session.outputNames[0]!]!;
  const states = output.data as Float32Array;
  const { name, dimensions, pooling } = settings.model;
  const actual = output.dims.at(-1);
  if (actual !== dimensions) throw new Error(`the vectors of ${name} have ${actual} dimensions, and not ${dimensions}`);
  const vectors = new Float32Array(batch.length * dimensions);
  // The model returns one state for each text, or one for each of its tokens.
  const perText = states.length / batch.length;
  for (let row = 0; row < batch.length; row += 1) {
    const all = states.subarray(row * perText, (row + 1) * perText);
    const vector = pooling === 'first' ? all.subarray(0, dimensions) : sumOf(all, dimensions);
    const norm = Math.hypot(...vector);
    for (let index = 0; index < dimensions; index += 1) vectors[row * dimensions + index] = vector[index]! / norm;
  }
  output.dispose();
  return vectors;
}

/** The sum of all states, whose direction is that of their mean. */
function sumOf(states: Float32Array, dimensions: number): Float32Array {
  const sum = new Float32Array(dimensions);
  for (const [index, value] of states.entries()) sum[index % dimensions]! += value;
  return sum;
}

/** Marks the time in native code in the shared state. @throws when the process is exiting */
async function inNativeCode<T>(run: () => Promise<T>): Promise<T> {
  Atomics.store(state, RUNNING, 1);
  try {
    if (Atomics.load(state, STOPPING) === 1) throw new Error('the process is exiting');
    return await run();
  } finally {
    Atomics.store(state, RUNNING, 0);
    Atomics.notify(state, RUNNING);
  }
}

function post(message: WorkerMessage): void {
  port.postMessage(message);
}
