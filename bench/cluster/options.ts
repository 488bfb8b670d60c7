import { randomInt } from 'node:crypto';
import { parseArgs } from 'node:util';

export interface ClusterOptions {
  minutes: number;
  /** Decides the order, the kind and the length of the faults. */
  seed: number;
}

const USAGE = 'usage: npm run bench -- cluster [<minutes>] [--seed <number>]';

/** @throws Error with the usage */
export function readOptions(args: readonly string[]): ClusterOptions {
  const options = { seed: { type: 'string' } } as const;
  try {
    const { values, positionals } = parseArgs({ args: [...args], options, allowPositionals: true });
    const minutes = Number(positionals[0] ?? 10);
    const seed = Number(values.seed ?? randomInt(1, 1_000_000));
    if (positionals.length > 1 || !(minutes > 0) || !Number.isInteger(seed)) throw new Error('a number is missing');
    return { minutes, seed };
  } catch (error) {
    throw new Error(`${(error as Error).message}\n${USAGE}`);
  }
}
