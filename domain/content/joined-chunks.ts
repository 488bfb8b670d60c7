import { addRange, moveRanges, type TextRange } from '../text-ranges.js';

/** A chunk as a passage needs it. */
export interface PassageChunk {
  _id: string;
  text: string;
  headings: readonly string[];
  code?: readonly TextRange[];
  rows?: readonly [number, number];
  /** Characters at the start that repeat the end of the chunk before. */
  overlap?: number;
}

/** Consecutive chunks of a document as one text. */
export interface Passage {
  chunk_ids: string[];
  text: string;
  /** The parts of the text that are code. */
  code: TextRange[];
  /** The parts of the text that were found. The others are their neighbours. */
  hits: TextRange[];
  /** Whether the end of the text was left out. */
  truncated?: boolean;
}

/** Joins consecutive chunks, without what they repeat of each other. The heading of a chunk stands before it where it changes. */
export function joinChunks(chunks: readonly PassageChunk[], isHit: (chunk: PassageChunk) => boolean): Passage {
  const passage: Passage = { chunk_ids: [], text: '', code: [], hits: [] };
  let above: PassageChunk | undefined;
  for (const chunk of chunks) {
    const { text, code = [] } = chunk;
    // The first chunk is shown from its start: what it repeats is not in the passage yet.
    const overlap = above ? (chunk.overlap ?? 0) : 0;
    if (above && overlap === 0) passage.text += gapBetween(above, chunk);
    const start = passage.text.length - overlap;
    passage.text += text.slice(overlap);
    passage.chunk_ids.push(chunk._id);
    for (const range of moveRanges(code, start)) addRange(passage.code, range);
    if (isHit(chunk)) addRange(passage.hits, [start, passage.text.length]);
    above = chunk;
  }
  return passage;
}

function gapBetween(above: PassageChunk, below: PassageChunk): string {
  const heading = below.headings.at(-1);
  if (heading !== undefined && below.headings.join('\n') !== above.headings.join('\n')) return `\n\n${heading}\n\n`;
  return above.rows && below.rows ? '\n' : '\n\n';
}
