/** Hits of a query that are ranked again. */
export const RERANKED = 50;

/** Ranks the best hits of a query again, by a model that reads query and text together. */
export interface Reranker {
  /**
   * @param org whose quota the tokens count against
   * @returns the positions of all texts, best first; null when there is no valid ranking in time
   */
  rank(query: string, texts: readonly string[], org: string): Promise<number[] | null>;
}

/**
 * @param hits best first
 * @param first some of the hits, in their new order
 * @returns `first`, then the others. Each has the score of its new place, because scores of another model are not comparable
 */
export function inNewOrder<Hit extends { score: number }>(hits: readonly Hit[], first: readonly Hit[]): Hit[] {
  const moved = new Set(first);
  return [...first, ...hits.filter((hit) => !moved.has(hit))].map((hit, at) => ({ ...hit, score: hits[at]!.score }));
}
