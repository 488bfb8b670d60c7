import { Counter, collectDefaultMetrics, Histogram, Registry } from 'prom-client';
import type { Reranker } from '../domain/content/reranking.js';
import type { Embedder } from '../domain/content/search.js';
import type { EmbeddingMetrics, RerankingMetrics } from '../domain/metrics.js';

/** Seconds: from one query to many documents. */
const BUCKETS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 60];

export type ModelMetrics = EmbeddingMetrics & RerankingMetrics;
export type ProcessMetrics = ModelMetrics & { registry: Registry };

/** The metrics that API and workers have: those of the process, and its calls of embedding models and rerankers. */
export function createProcessMetrics(): ProcessMetrics {
  const registry = new Registry();
  collectDefaultMetrics({ register: registry });
  const texts = new Counter({
    name: 'postback_embedded_texts_total',
    help: 'Texts that this process has embedded, by kind.',
    labelNames: ['kind'],
    registers: [registry],
  });
  const duration = new Histogram({
    name: 'postback_embedding_duration_seconds',
    help: 'Time of a call of the embedding model, with its wait, by kind.',
    labelNames: ['kind'],
    buckets: BUCKETS,
    registers: [registry],
  });
  const rerankings = new Histogram({
    name: 'postback_rerank_duration_seconds',
    help: 'Time of a second ranking of a query, by result.',
    labelNames: ['result'],
    buckets: BUCKETS,
    registers: [registry],
  });
  for (const kind of ['document', 'query']) texts.inc({ kind }, 0);
  return {
    registry,
    embedded(kind, count, milliseconds) {
      texts.inc({ kind }, count);
      duration.observe({ kind }, milliseconds / 1000);
    },
    reranked(result, milliseconds) {
      rerankings.observe({ result }, milliseconds / 1000);
    },
  };
}

/** @returns an embedder whose calls are measured */
export function measuredEmbedder(embedder: Embedder, metrics: EmbeddingMetrics): Embedder {
  async function measure<T>(kind: 'document' | 'query', texts: number, call: () => Promise<T>): Promise<T> {
    const started = performance.now();
    let embedded = 0;
    try {
      const vectors = await call();
      embedded = texts;
      return vectors;
    } finally {
      metrics.embedded(kind, embedded, performance.now() - started);
    }
  }
  return {
    model: embedder.model,
    dimensions: embedder.dimensions,
    embedDocuments: (texts, signal, org) =>
      measure('document', texts.length, () => embedder.embedDocuments(texts, signal, org)),
    embedQuery: (text, signal, org) => measure('query', 1, () => embedder.embedQuery(text, signal, org)),
    close: () => embedder.close(),
  };
}

/** @returns a reranker whose calls are measured */
export function measuredReranker(reranker: Reranker, metrics: RerankingMetrics): Reranker {
  return {
    async rank(...request) {
      const started = performance.now();
      const order = await reranker.rank(...request);
      metrics.reranked(order ? 'ok' : 'failed', performance.now() - started);
      return order;
    },
  };
}
