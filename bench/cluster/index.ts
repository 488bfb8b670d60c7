import { printFigures, writeResult } from '../support/results.js';
import { startCluster } from './cluster.js';
import { injectFaults } from './faults.js';
import { readOptions } from './options.js';
import { createRandom } from './random.js';
import { buildRelease, postback, rollOver } from './rollout.js';
import { runUnderLoad } from './run.js';

/**
 * Runs a cluster on this machine under mixed load while every process in turn is killed, frozen or cut off, and then checks
 * that nothing was lost, doubled without a reason, or is stuck.
 * @throws Error with the number of violations, which are printed
 */
export async function cluster(...args: string[]): Promise<void> {
  const { minutes, seed, embedded, from } = readOptions(args);
  const options = `${minutes}${embedded ? ' --embedded' : ''} --seed ${seed}${from === undefined ? '' : ` --from ${from}`}`;
  console.log(`to repeat: npm run bench -- cluster ${options}`);
  const closing: (() => Promise<unknown>)[] = [];
  const beforeEnd = (close: () => Promise<unknown>) => void closing.unshift(close);
  const print = (line: string) => console.log(line);
  try {
    const release = from === undefined ? null : await buildRelease(from);
    if (release) beforeEnd(release.remove);
    const running = await startCluster({ embedded, code: release?.code });
    beforeEnd(running.stop);
    if (release) await postback(running, release.code, 'worker', 'promote');
    const { figures, violations } = await runUnderLoad(running, {
      seed,
      minutes,
      isRollout: release !== null,
      change: (faults, until) =>
        release
          ? rollOver(running, until)
          : // A freeze of a minute, and less in a short run, so that it has more than one fault.
            injectFaults(running, faults, {
              random: createRandom(seed),
              until,
              maxFreezeSeconds: Math.min(60, minutes * 6),
              print,
            }),
      print,
    });
    for (const [title, rows] of Object.entries(figures)) printFigures(title, rows);
    if (violations.length > 0) {
      console.log(`\n${violations.length} violations`);
      for (const violation of violations) console.log(`  ${violation}`);
      console.log(`logs and data: ${running.keepFolder()}`);
      throw new Error(`the cluster broke its promises: ${violations.length} violations with seed ${seed}`);
    }
    console.log(`\nnothing was lost, nothing is stuck, nothing was doubled without a reason (seed ${seed})`);
    if (!embedded && !release) writeResult('cluster', options, figures);
  } finally {
    for (const close of closing) await close().catch((error) => console.error(`  ${(error as Error).message}`));
  }
}
