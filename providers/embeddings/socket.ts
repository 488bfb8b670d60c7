import { setTimeout as wait } from 'node:timers/promises';
import { Pool } from 'undici';
import type { Embedder } from '../../domain/content/search.js';
import { EmbeddingError } from '../../domain/errors.js';
import { createSemaphore } from '../../domain/semaphore.js';
import { BUILT_IN_MODEL, type LocalModel } from './local-model.js';
import { MAX_CHARACTERS, MAX_TEXTS, ORG_HEADER, PATHS, STATUS, unpackVectors } from './socket-protocol.js';

export interface SocketEmbedderOptions {
  /** The model of the process. Default: the built-in model. */
  model?: LocalModel | undefined;
  /** The embedding process: its socket, or its URL when it is on another machine. It need not be there yet. */
  address: { socketPath: string } | { url: string };
  /** How long calls wait for a process that does not accept connections, such as while it restarts. */
  patienceMs?: { documents: number; query: number };
}

/** Requests at a time: those of all activities. Organisations take turns for them, as their texts do in the process. */
const CONNECTIONS = { documents: 64, query: 16 };
/** A restart takes about two seconds. A client that sends a query waits for its response. */
const PATIENCE_MS = { documents: 30_000, query: 5_000 };
/** How long a request may take: documents wait behind the queue of all clients. */
const RESPONSE_MS = { documents: 5 * 60_000, query: 30_000 };
/** Connections that may break during a request before it is given up: its texts may be the cause. */
const MAX_LOST = 2;
const FIRST_PAUSE_MS = 50;
const LONGEST_PAUSE_MS = 1_000;

type Kind = keyof typeof PATIENCE_MS;
interface EmbeddingRequest {
  path: string;
  headers: Record<string, string>;
  body: string;
  signal: AbortSignal;
}
type Outcome = { vectors: Float32Array[] } | { retry: 'busy' | 'unavailable' | 'lost'; error: EmbeddingError };

/** The local model in a process of its own, which other processes share. Calls outlast its restart. */
export function createSocketEmbedder(options: SocketEmbedderOptions): Embedder {
  const { address, patienceMs = PATIENCE_MS, model = BUILT_IN_MODEL } = options;
  const pool = (kind: Kind) =>
    new Pool('url' in address ? address.url : 'http://embedder', {
      ...('url' in address ? {} : { connect: address }),
      connections: CONNECTIONS[kind],
      headersTimeout: RESPONSE_MS[kind],
      bodyTimeout: RESPONSE_MS[kind],
    });
  const pools = { documents: pool('documents'), query: pool('query') };
  const places = {
    documents: createSemaphore({ places: CONNECTIONS.documents }),
    query: createSemaphore({ places: CONNECTIONS.query }),
  };
  const closing = new AbortController();

  async function embed(
    kind: Kind,
    texts: readonly string[],
    signal?: AbortSignal,
    org?: string,
  ): Promise<Float32Array[]> {
    const ended = AbortSignal.any(signal ? [signal, closing.signal] : [closing.signal]);
    const body = JSON.stringify(texts.map((text) => text.slice(0, MAX_CHARACTERS)));
    const headers: Record<string, string> = org === undefined ? {} : { [ORG_HEADER]: encodeURIComponent(org) };
    const request = { path: PATHS[kind], headers, body, signal: ended };
    let unavailableSince: number | undefined;
    let lost = 0;
    for (let pause = FIRST_PAUSE_MS; ; pause = Math.min(pause * 2, LONGEST_PAUSE_MS)) {
      const leave = await places[kind].acquire(ended, org);
      const outcome = await attempt(pools[kind], request, texts.length, model.dimensions).finally(leave);
      if ('vectors' in outcome) return outcome.vectors;
      if (outcome.retry === 'lost') lost += 1;
      if (outcome.retry === 'busy' && kind === 'documents') {
        // Documents may wait for a busy process as long as their caller does.
        unavailableSince = undefined;
      } else {
        unavailableSince ??= Date.now();
        if (lost > MAX_LOST || Date.now() - unavailableSince >= patienceMs[kind]) throw outcome.error;
      }
      // Clients whose connections broke at the same time do not reconnect at the same time.
      await wait(pause * (0.5 + Math.random() / 2), undefined, { signal: ended }).catch(() => ended.throwIfAborted());
    }
  }

  return {
    model: model.name,
    dimensions: model.dimensions,
    async embedDocuments(texts, signal, org) {
      const groups = Array.from({ length: Math.ceil(texts.length / MAX_TEXTS) }, (_, n) =>
        texts.slice(n * MAX_TEXTS, (n + 1) * MAX_TEXTS),
      );
      return (await Promise.all(groups.map((group) => embed('documents', group, signal, org)))).flat();
    },
    async embedQuery(text, signal, org) {
      const [vector] = await embed('query', [text], signal, org);
      return vector!;
    },
    async close() {
      closing.abort(new EmbeddingError('The embedder has been closed.', false));
      await Promise.all([pools.documents.destroy(), pools.query.destroy()]);
    },
  };
}

/** @throws EmbeddingError when the process rejects the request or the model fails; the reason of the signal */
async function attempt(pool: Pool, request: EmbeddingRequest, count: number, dimensions: number): Promise<Outcome> {
  let status: number;
  let bytes: ArrayBuffer;
  try {
    const response = await pool.request({ ...request, method: 'POST' });
    status = response.statusCode;
    bytes = await response.body.arrayBuffer();
  } catch (error) {
    request.signal.throwIfAborted();
    const { code } = error as { code?: string };
    const message = `The embedding process cannot be reached (${code ?? (error as Error).name}).`;
    const neverReached = code === 'ENOENT' || code === 'ECONNREFUSED' || code === 'UND_ERR_CONNECT_TIMEOUT';
    return { retry: neverReached ? 'unavailable' : 'lost', error: new EmbeddingError(message, true) };
  }
  if (status !== 200) {
    const error = new EmbeddingError(Buffer.from(bytes).toString(), status !== STATUS.rejected);
    if (status === STATUS.busy) return { retry: 'busy', error };
    throw error;
  }
  const vectors = unpackVectors(bytes, count, dimensions);
  if (!vectors) throw new EmbeddingError('The embedding process returned vectors of another size.', false);
  return { vectors };
}
