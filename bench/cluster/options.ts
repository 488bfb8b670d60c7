import { randomInt } from 'node:crypto';
import { parseArgs } from 'node:util';

export interface ClusterOptions {
  minutes: number;
  /** Decides the order, the kind and the length of the faults. */
  seed: number;
  /** Temporal's dev server, no faults on the network: needs neither Go nor PostgreSQL. */
  embedded: boolean;
  /** Instead of faults: a rolling update from this commit to the working copy. */
  from?: string;
}

const USAGE = 'usage: npm run bench -- cluster [<minutes>] [--embedded] [--seed <number>] [--from <git ref>]';

/** @throws Error with the usage */
export function readOptions(args: readonly string[]): ClusterOptions {
  const options = { embedded: { type: 'boolean' }, seed: { type: 'string' }, from: { type: 'string' } } as const;
  try {
    const { values, positionals } = parseArgs({ args: [...args], options, allowPositionals: true });
    const minutes = Number(positionals[0] ?? 10);
    const seed = Number(values.seed ?? randomInt(1, 1_000_000));
    if (positionals.length > 1 || !(minutes > 0) || !Number.isInteger(seed)) throw new Error('a number is missing');
    const { embedded = false, from } = values;
    return { minutes, seed, embedded, ...(from === undefined ? {} : { from }) };
  } catch (error) {
    throw new Error(`${(error as Error).message}\n${USAGE}`);
  }
}
