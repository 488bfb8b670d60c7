import { once } from 'node:events';
import { chmodSync, rmSync } from 'node:fs';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { connect } from 'node:net';
import type { Embedder } from '../../domain/content/search.js';
import { EmbeddingError } from '../../domain/errors.js';
import { MAX_BYTES, MAX_TEXTS, ORG_HEADER, PATHS, packVectors, STATUS } from './socket-protocol.js';

/** Texts that wait for the model or are in it. Clients keep further texts and try again. */
const QUEUE = { documents: 1_024, query: 256 };
type Kind = keyof typeof QUEUE;

/**
 * Serves an embedder to the processes of this machine. The texts of a client that disconnects are dropped.
 * @param queue texts that may wait, by kind
 */
export function createEmbeddingServer(embedder: Embedder, queue: Record<Kind, number> = QUEUE): Server {
  /** Texts by organisation. Those that name none are one. */
  const waiting = { documents: new Map<string | undefined, number>(), query: new Map<string | undefined, number>() };

  async function embed(kind: Kind, request: IncomingMessage, response: ServerResponse): Promise<void> {
    const texts = await readTexts(request);
    if (!texts) return void response.writeHead(STATUS.rejected).end('The request is not a list of texts.');
    const org = orgOf(request);
    // A full queue still accepts a request of an organisation that has no texts in it, and a request larger than the queue
    // when nothing waits.
    const all = [...waiting[kind].values()].reduce((sum, count) => sum + count, 0);
    const own = org === undefined ? all : (waiting[kind].get(org) ?? 0);
    if (own > 0 && all + texts.length > queue[kind]) {
      return void response.writeHead(STATUS.busy).end('Too many texts are waiting for the embedding model.');
    }
    const disconnected = new AbortController();
    response.once('close', () => disconnected.abort(new Error('The client has disconnected.')));
    count(kind, texts.length, org);
    try {
      const { signal } = disconnected;
      const vectors = await (kind === 'documents'
        ? embedder.embedDocuments(texts, signal, org)
        : Promise.all(texts.map((text) => embedder.embedQuery(text, signal, org))));
      response.end(packVectors(vectors));
    } catch (error) {
      const retryable = !(error instanceof EmbeddingError) || error.retryable;
      response.writeHead(retryable ? STATUS.failed : STATUS.rejected).end((error as Error).message);
    } finally {
      count(kind, -texts.length, org);
    }
  }

  function count(kind: Kind, change: number, org: string | undefined): void {
    const own = (waiting[kind].get(org) ?? 0) + change;
    if (own === 0) waiting[kind].delete(org);
    else waiting[kind].set(org, own);
  }

  const server = createServer((request, response) => {
    if (request.url === PATHS.health) return void response.end();
    const kind = (['documents', 'query'] as const).find((name) => PATHS[name] === request.url);
    if (kind === undefined || request.method !== 'POST') return void response.writeHead(404).end();
    // A client that disconnects ends its request with an error; nobody is left to receive it.
    embed(kind, request, response).catch(() => response.destroy());
  });
  // Clients close idle connections. If the server closed them, it could cut off a request that is on its way.
  server.keepAliveTimeout = 0;
  return server;
}

/**
 * Listens on a Unix socket that only this user can use, and replaces the socket of a process that was killed.
 * @throws Error when another process listens there
 */
export async function listenOnSocket(server: Server, path: string): Promise<void> {
  if (await acceptsConnections(path)) throw new Error(`another process listens on ${path}`);
  rmSync(path, { force: true });
  server.listen(path);
  await once(server, 'listening');
  chmodSync(path, 0o600);
}

async function acceptsConnections(path: string): Promise<boolean> {
  const socket = connect(path);
  try {
    await once(socket, 'connect');
    return true;
  } catch {
    return false;
  } finally {
    socket.destroy();
  }
}

function orgOf({ headers }: IncomingMessage): string | undefined {
  const org = headers[ORG_HEADER];
  return typeof org === 'string' ? org : undefined;
}

/** @returns undefined when the body is not an array of strings within the limits */
async function readTexts(request: IncomingMessage): Promise<string[] | undefined> {
  const parts: Buffer[] = [];
  let bytes = 0;
  for await (const part of request as AsyncIterable<Buffer>) {
    bytes += part.length;
    if (bytes > MAX_BYTES) return undefined;
    parts.push(part);
  }
  try {
    const texts: unknown = JSON.parse(Buffer.concat(parts).toString());
    return Array.isArray(texts) && texts.length <= MAX_TEXTS && texts.every((text) => typeof text === 'string')
      ? texts
      : undefined;
  } catch {
    return undefined;
  }
}
