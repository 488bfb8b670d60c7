import fc from 'fast-check';
import { mutate, mutation } from './mutations.js';
import { crews, files, forms, listings, type Target } from './targets.js';

export { mutate, mutation } from './mutations.js';
export * from './targets.js';

/** Shares of the cases. */
const TARGETS: Record<string, { share: number; create: () => Target | Promise<Target> }> = {
  files: { share: 0.6, create: () => files({ slow: true }) },
  listings: { share: 0.15, create: listings },
  forms: { share: 0.15, create: forms },
  crews: { share: 0.1, create: crews },
};

/**
 * Every case is a sample with a mutation. Stops at the first finding and reduces it to its smallest form.
 * @returns undefined, or a report with the seed, by which the run can be repeated
 */
export async function fuzz(target: Target, cases: number, seed: number): Promise<string | undefined> {
  const sample = fc.constantFrom(...target.samples.keys());
  const property = fc.asyncProperty(sample, mutation, async (n, change) => {
    const { name, bytes } = target.samples[n]!;
    await target.read(await mutate(bytes, change), name);
  });
  const result = await fc.check(property, { numRuns: cases, seed, endOnFailure: false });
  if (!result.failed) return undefined;
  const [n, change] = result.counterexample ?? [];
  const { name } = target.samples[n ?? 0]!;
  return `seed ${seed}: ${name} after ${JSON.stringify(change)}\n${(result.errorInstance as Error | undefined)?.stack}`;
}

/** `npm run bench -- fuzz [<cases>]`: mutated files, listings, forms and crews. @throws Error for a finding */
export async function fuzzing(argument = '10000'): Promise<void> {
  const seed = Number(process.env.FUZZ_SEED ?? Date.now() % 2 ** 31);
  console.log(`seed ${seed} (repeat it with FUZZ_SEED=${seed})`);
  const findings: string[] = [];
  for (const [name, { share, create }] of Object.entries(TARGETS)) {
    const target = await create();
    const cases = Math.ceil(Number(argument) * share);
    const report = await fuzz(target, cases, seed);
    console.log(`${name.padEnd(10)} ${cases} cases of ${target.samples.length} samples: ${report ?? 'no finding'}`);
    if (report !== undefined) findings.push(name);
    await target.close();
  }
  if (findings.length > 0) throw new Error(`findings in: ${findings.join(', ')}`);
}
