import { joinChunks, type Passage, type PassageChunk } from '../../domain/content/joined-chunks.js';
import { chunkId, chunkOwner } from '../../domain/ids.js';
import type { Result, ServedHitsDependencies } from './served-hits.js';

/** Neighbouring chunks of one version, by their ordinals, and the hits among them, best first. */
interface Run {
  from: number;
  to: number;
  hits: Result[];
}

/** A hit with its neighbours. */
export type ExpandedHit = Passage & {
  best: Result;
  /** Ids of the chunks that were found, the best first. */
  found: string[];
};

/**
 * Reads the chunks before and after each hit. Hits whose neighbours meet are one passage, in the place of the best of them.
 * @param hits best first
 * @param expand chunks on each side
 */
export async function readPassages(
  chunks: ServedHitsDependencies['chunks'],
  databaseId: string,
  hits: readonly Result[],
  expand: number,
): Promise<ExpandedHit[]> {
  const runs = expand === 0 ? hits.map(runOf(0)) : runsOf(hits, expand);
  const known = new Map<string, PassageChunk>(hits.map(({ chunk }) => [chunk._id, chunk]));
  const missing = runs.flatMap(idsOf).filter((id) => !known.has(id));
  if (missing.length > 0) for (const [id, chunk] of await chunks.getByIds(databaseId, missing)) known.set(id, chunk);
  return runs.map((run) => {
    const found = run.hits.map(({ chunk }) => chunk._id);
    const members = idsOf(run).flatMap((id) => known.get(id) ?? []);
    return { ...joinChunks(members, ({ _id }) => found.includes(_id)), best: run.hits[0]!, found };
  });
}

/** @returns the best hit of a passage alone */
export function withoutNeighbours({ best }: ExpandedHit): ExpandedHit {
  return { ...joinChunks([best.chunk], () => true), best, found: [best.chunk._id] };
}

const runOf =
  (expand: number) =>
  (hit: Result): Run => ({
    from: Math.max(0, hit.chunk.ordinal - expand),
    to: hit.chunk.ordinal + expand,
    hits: [hit],
  });

/** @returns runs that do not meet, in the order of their best hits */
function runsOf(hits: readonly Result[], expand: number): Run[] {
  const rank = new Map(hits.map((hit, at) => [hit, at]));
  const byVersion = new Map<string, Run[]>();
  for (const hit of [...hits].sort((a, b) => a.chunk.ordinal - b.chunk.ordinal)) {
    const { item, version } = chunkOwner(hit.chunk._id);
    const runs = byVersion.get(`${item}/${version}`) ?? [];
    byVersion.set(`${item}/${version}`, runs);
    const run = runOf(expand)(hit);
    const last = runs.at(-1);
    if (last && run.from <= last.to + 1) {
      last.to = run.to;
      last.hits.push(hit);
    } else runs.push(run);
  }
  const runs = [...byVersion.values()].flat();
  for (const run of runs) run.hits.sort((a, b) => rank.get(a)! - rank.get(b)!);
  return runs.sort((a, b) => rank.get(a.hits[0]!)! - rank.get(b.hits[0]!)!);
}

function idsOf({ from, to, hits }: Run): string[] {
  const { item, version } = chunkOwner(hits[0]!.chunk._id);
  return Array.from({ length: to - from + 1 }, (_, n) => chunkId(item, version, from + n));
}
