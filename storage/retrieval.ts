import { ServiceError } from '../domain/errors.js';
import type { Embedder, ItemType, QueryMode, SearchIndex, TextOperator } from '../domain/search.js';
import type { Chunks } from './chunks.js';
import type { GraphStore } from './graph.js';
import type { Items } from './items.js';
import type { ChunkRecord, DatabaseRecord } from './records.js';

export interface Question {
  query: string;
  mode: QueryMode;
  operator: TextOperator;
  collections?: readonly string[] | undefined;
  type?: ItemType | undefined;
  ids?: readonly string[] | undefined;
  max_results: number;
  graph_context: boolean;
}

export type Retrieval = ReturnType<typeof createRetrieval>;

/** Relations and entities that an answer carries at the most. */
const MAX_GRAPH = 50;

/** Answers questions: the index finds, MongoDB tells what it is, and whether it is still there. */
export function createRetrieval(deps: {
  index: SearchIndex;
  embedder: Embedder | null;
  chunks: Chunks;
  items: Items;
  graph: GraphStore;
}) {
  return {
    async ask(database: DatabaseRecord, question: Question) {
      if (question.mode === 'vector' && !deps.embedder) {
        throw new ServiceError('SERVICE_UNAVAILABLE', 'There is no embedding model: query_by can only be "text".');
      }
      const vector = deps.embedder && question.mode !== 'text' ? await deps.embedder.embedQuery(question.query) : null;
      const hits = await deps.index.search(database._id, {
        mode: question.mode,
        query: question.query,
        operator: question.operator,
        vector,
        collections: question.collections,
        type: question.type,
        source_ids: question.ids,
        // A few more than asked for: a hit may belong to a version that has just been replaced.
        limit: question.max_results + 10,
      });
      const chunks = await deps.chunks.byIds(hits.map((hit) => hit.chunk_id));
      const owners = await deps.items.byKeys([...new Set([...chunks.values()].map((chunk) => chunk.item))]);
      const current = new Map(owners.map((item) => [item._id, item]));
      const shown = new Set<string>();
      const answers = hits.flatMap((hit) => {
        const chunk = chunks.get(hit.chunk_id);
        const item = chunk && current.get(chunk.item);
        const stale = !item || item.version !== chunk?.version || item.indexing_status === 'errored';
        if (!chunk || stale || shown.has(chunk._id)) return [];
        shown.add(chunk._id);
        return [{ chunk, item, score: hit.score }];
      });
      const best = answers.slice(0, question.max_results);
      const graph = question.graph_context
        ? await deps.graph.around(
            [...new Map(best.map(({ item }) => [item._id, { item: item._id, version: item.version }])).values()],
            best.map(({ chunk }) => chunk._id),
            MAX_GRAPH,
          )
        : { entities: [], relations: [] };
      return {
        chunks: best.map(({ chunk, item, score }) => ({
          chunk_id: chunk._id,
          source_id: chunk.source_id,
          title: item.title,
          text: chunk.text,
          score,
          metadata: { ...item.additional_metadata, ...item.metadata, ...place(chunk) },
          collection: chunk.collection,
          type: chunk.type,
        })),
        graph,
      };
    },
  };
}

/** Where in its document a chunk stands. */
function place(chunk: ChunkRecord): Record<string, unknown> {
  return {
    ...(chunk.page === null ? {} : { page: chunk.page }),
    ...(chunk.sheet === null ? {} : { sheet: chunk.sheet }),
    ...(chunk.headings.length === 0 ? {} : { headings: chunk.headings }),
  };
}
