import type { Embedder } from './search.js';

/** A model whose vectors an index has. Vectors of different models are never compared, even with equal dimensions. */
export interface EmbeddingModel {
  /** Name, as operators know it. */
  model: string;
  dimensions: number;
}

export type Embedders = ReturnType<typeof createEmbedders>;

/**
 * The embedding models that a process can use.
 * @param embedders the configured model first, then models that databases may still have
 */
export function createEmbedders(embedders: readonly Embedder[]) {
  return {
    /** The configured model: new databases get it, and a rebuild changes to it. Null: full text only. */
    current: embedders[0] ?? null,
    /** @returns null when this process does not have the model */
    find: (model: EmbeddingModel | null): Embedder | null =>
      embedders.find((embedder) => isSameModel(embedder, model)) ?? null,
    async close(): Promise<void> {
      await Promise.allSettled(embedders.map((embedder) => embedder.close()));
    },
  };
}

export function isSameModel(a: EmbeddingModel | null, b: EmbeddingModel | null): boolean {
  return a?.model === b?.model && a?.dimensions === b?.dimensions;
}

/** @returns a model as operators read it; null is a database without vectors */
export function describeModel(model: EmbeddingModel | null): string {
  return model ? `${model.model} (${model.dimensions} dimensions)` : 'no vectors';
}

/** @returns only the name and the dimensions, as they are stored */
export function modelOf({ model, dimensions }: EmbeddingModel): EmbeddingModel {
  return { model, dimensions };
}

/** Databases with the vectors of one model. */
export interface ModelUse {
  /** Null: databases without vectors. */
  model: EmbeddingModel | null;
  databases: number;
}

/** Databases with vectors of another model than the configured one. */
export interface OtherModel extends EmbeddingModel {
  databases: number;
  /** Whether this process has the model, so that queries by vectors work until a rebuild. */
  available: boolean;
}

/** @returns the models that a rebuild would replace; none without a configured model */
export function otherModels(uses: readonly ModelUse[], embedders: Pick<Embedders, 'current' | 'find'>): OtherModel[] {
  const { current } = embedders;
  if (!current) return [];
  return uses.flatMap(({ model, databases }) =>
    model === null || isSameModel(model, current)
      ? []
      : [{ ...modelOf(model), databases, available: embedders.find(model) !== null }],
  );
}
