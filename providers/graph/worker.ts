import type { Graph } from '../../domain/content/graph.js';
import { buildGraph } from './build-graph.js';

/** Entry point of a graph thread. */
export default function run(chunks: { chunk_id: string; text: string }[]): Graph {
  return buildGraph(chunks);
}
