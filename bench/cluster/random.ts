/** Random numbers that follow from a seed, so that a run can be repeated. */
export interface Random {
  /** 0 to 1. */
  next(): number;
  between(min: number, max: number): number;
  shuffled<T>(values: readonly T[]): T[];
}

/** Mulberry32, of which one step is enough here. */
export function createRandom(seed: number): Random {
  let state = seed;
  const next = () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
  return {
    next,
    between: (min, max) => min + next() * (max - min),
    shuffled(values) {
      const result = [...values];
      for (let at = result.length - 1; at > 0; at--) {
        const other = Math.floor(next() * (at + 1));
        [result[at], result[other]] = [result[other]!, result[at]!];
      }
      return result;
    },
  };
}
