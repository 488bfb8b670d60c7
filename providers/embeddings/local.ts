import type { Embedder } from '../../domain/content/search.js';
import { EmbeddingError } from '../../domain/errors.js';
import { BUILT_IN_MODEL, type LocalModel } from './local-model.js';
import { type ModelThread, startModelThread } from './model-thread.js';
import { createTextQueue, type QueuedText } from './text-queue.js';

export interface LocalEmbedderOptions {
  /** Default: the built-in model. */
  model?: LocalModel | undefined;
  modelPath: string;
  tokenizerPath: string;
  /** Threads that each run the model on one core. */
  threads?: number | undefined;
  /** How long a thread is kept without work. One thread is always kept. */
  idleMs?: number;
}

const IDLE_MS = 60_000;

/** A thread with the texts that it has been sent. */
interface Worker {
  thread: ModelThread;
  ready: boolean;
  inFlight: Map<number, QueuedText>;
  /** Since when it has no work, in milliseconds. */
  idleSince: number;
}

/**
 * A model in threads of this process. The first starts and loads the model at first use, the others when documents
 * wait. Calls share batches; queries are embedded before documents, which have a share
 * of the time. Threads instead of parallel operators: a thread that
 * waits for another at each operator takes twice the time on two cores. If a thread dies, its calls are rejected
 * (retryable), and the next call starts a new thread.
 */
export function createLocalEmbedder(options: LocalEmbedderOptions): Embedder {
  const { threads = 1, idleMs = IDLE_MS, model = BUILT_IN_MODEL, ...files } = options;
  const { dimensions } = model;
  const queue = createTextQueue();
  const workers = new Set<Worker>();
  let closed = false;
  let retirement: NodeJS.Timeout | undefined;

  function startWorker(): void {
    const worker: Worker = {
      ready: false,
      inFlight: new Map(),
      idleSince: performance.now(),
      thread: startModelThread(
        { ...files, model },
        {
          onReady() {
            worker.ready = true;
            dispatch();
          },
          onResult(numbers, result) {
            for (const [index, number] of numbers.entries()) settle(worker, number, index, result);
            dispatch();
          },
          onEnd: (reason) => handleWorkerEnd(worker, reason),
        },
      ),
    };
    workers.add(worker);
  }

  /** Ends a thread that is not needed, to return its memory. */
  function retireIdle(): void {
    retirement = undefined;
    const ready = [...workers].filter((worker) => worker.ready);
    const isIdle = ({ inFlight, idleSince }: Worker) => inFlight.size === 0 && performance.now() - idleSince >= idleMs;
    const idle = ready.length > 1 ? ready.find(isIdle) : undefined;
    if (idle) void idle.thread.stop();
    else dispatch();
  }

  function settle(
    worker: Worker,
    number: number,
    index: number,
    result: { vectors: ArrayBuffer } | { failed: string },
  ): void {
    const text = worker.inFlight.get(number);
    if (!text) return;
    worker.inFlight.delete(number);
    if ('failed' in result) text.reject(new EmbeddingError(`The embedding model failed: ${result.failed}`, true));
    // Copied, so that one vector in use does not keep its whole batch in memory.
    else text.resolve(new Float32Array(result.vectors, index * dimensions * 4, dimensions).slice());
  }

  function handleWorkerEnd(worker: Worker, reason: string): void {
    workers.delete(worker);
    const error = new EmbeddingError(reason, true);
    for (const text of worker.inFlight.values()) text.reject(error);
    if (!closed && [...workers].some(({ ready }) => ready)) {
      dispatch();
      return;
    }
    // Without another thread that has loaded the model, waiting texts might wait without end.
    queue.rejectAll(error);
  }

  /** Gives waiting texts to threads that have room. */
  function dispatch(): void {
    if (workers.size === 0 && queue.size > 0) startWorker();
    const ready = [...workers].filter((worker) => worker.ready);
    const idlest = ready.sort((a, b) => documentsOf(a) - documentsOf(b) || urgentTokensOf(a) - urgentTokensOf(b))[0];
    for (const worker of ready) send(worker, queue.takeQueries(urgentTokensOf(worker)));
    for (const worker of ready) if (documentsOf(worker) === 0) send(worker, queue.takeDocuments(threads));
    if (idlest && queue.size > 0) send(idlest, queue.takeShort(orgsInThreads()));
    const loading = ready.length < workers.size;
    if (!loading && workers.size < threads && queue.size > 0) startWorker();
    // A thread that loads the model keeps the process alive while texts wait for it.
    for (const worker of workers) {
      worker.thread.setBusy(worker.inFlight.size > 0 || queue.size > 0);
      if (worker.inFlight.size > 0) worker.idleSince = performance.now();
    }
    if (workers.size > 1) retirement ??= setTimeout(retireIdle, idleMs).unref();
  }

  function orgsInThreads(): Set<string | undefined> {
    const inThreads = [...workers].flatMap(({ inFlight }) => [...inFlight.values()]);
    return new Set(inThreads.filter(({ kind }) => kind === 'document').map(({ org }) => org));
  }

  function send(worker: Worker, texts: QueuedText[]): void {
    if (texts.length === 0) return;
    for (const text of texts) worker.inFlight.set(text.number, text);
    worker.thread.send(
      texts.map(({ number, text }) => ({ number, text })),
      texts[0]!.urgent,
    );
  }

  async function embed(
    texts: readonly string[],
    kind: QueuedText['kind'],
    signal?: AbortSignal,
    org?: string,
  ): Promise<Float32Array[]> {
    if (closed) throw new EmbeddingError('The embedding model has been closed.', false);
    signal?.throwIfAborted();
    const { vectors, abandon } = queue.add(texts, kind, org);
    dispatch();
    if (!signal) return vectors;
    const abort = () => abandon(signal.reason);
    signal.addEventListener('abort', abort, { once: true });
    return vectors.finally(() => signal.removeEventListener('abort', abort));
  }

  return {
    model: model.name,
    dimensions,
    embedDocuments: (texts, signal, org) =>
      embed(
        texts.map((text) => model.document_prefix + text),
        'document',
        signal,
        org,
      ),
    async embedQuery(text, signal, org) {
      const [vector] = await embed([model.query_prefix + text], 'query', signal, org);
      return vector!;
    },
    async close() {
      closed = true;
      clearTimeout(retirement);
      await Promise.all([...workers].map(({ thread }) => thread.stop()));
    },
  };
}

function documentsOf({ inFlight }: Worker): number {
  return [...inFlight.values()].filter(({ urgent }) => !urgent).length;
}

function urgentTokensOf({ inFlight }: Worker): number {
  return [...inFlight.values()].reduce((sum, { urgent, tokens }) => sum + (urgent ? tokens : 0), 0);
}
