import { mkdtempSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { runCommand } from '../../dev-stack/run-command.js';
import type { Cluster } from './cluster.js';
import { time } from './faults.js';

const ROOT = fileURLToPath(new URL('../../../', import.meta.url));
const MINUTE = 60_000;
/** Quiet time before the update and after it, as a share of the run. */
const EDGE = 0.2;

export interface Release {
  /** Its compiled code. */
  code: string;
  remove(): Promise<void>;
}

/** Compiles the code of a commit, with the packages that are installed. @throws Error when git or the compiler fails */
export async function buildRelease(ref: string): Promise<Release> {
  const parent = mkdtempSync(join(tmpdir(), 'postback-release-'));
  const folder = join(parent, 'code');
  const git = (...args: string[]) => runCommand('git', ['-C', ROOT, ...args], process.env, MINUTE);
  const commit = (await git('rev-parse', '--short', ref)).trim();
  await git('worktree', 'add', '--detach', folder, commit);
  const remove = async () => {
    await git('worktree', 'remove', '--force', folder);
    rmSync(parent, { recursive: true, force: true });
  };
  try {
    symlinkSync(join(ROOT, 'node_modules'), join(folder, 'node_modules'));
    console.log(`compiling ${commit}`);
    await runCommand(
      process.execPath,
      [join(ROOT, 'node_modules', 'typescript', 'bin', 'tsc'), '-p', folder],
      process.env,
      10 * MINUTE,
    );
    return { code: join(folder, 'dist'), remove };
  } catch (error) {
    await remove();
    throw error;
  }
}

/** Runs a command of `postback`. @param code of the release; undefined: this code */
export async function postback({ settings }: Cluster, code: string | undefined, ...args: string[]): Promise<void> {
  const program = join(code ?? join(ROOT, 'dist'), 'cli', 'main.js');
  const printed = await runCommand(process.execPath, [program, ...args], settings, 5 * MINUTE);
  console.log(`          postback ${args.join(' ')}: ${printed.trim().split('\n').at(-1)}`);
}

/**
 * Replaces every process by this code, as docs/operators.md describes a rollout: new workers beside the old workers, which get
 * the work when their version is promoted. An API leaves the balancer before it ends.
 */
export async function rollOver(cluster: Cluster, until: number): Promise<void> {
  const { apis, workers, embedder, balancer, start } = cluster;
  const steps: [string, () => Promise<unknown>][] = [
    ['starting new workers', () => Promise.all(workers.map(({ name }) => start('worker', `new-${name}`, undefined)))],
    ['replaying what is open', () => postback(cluster, undefined, 'replay-open')],
    ['promoting the new workers', () => postback(cluster, undefined, 'worker', 'promote')],
    ...workers.map(({ name, stop }) => [`stopping ${name}`, stop] as [string, typeof stop]),
    ['replacing the embedding process', () => embedder.replace(undefined)],
    ...apis.map(({ name, address, replace }): [string, () => Promise<void>] => [
      `replacing ${name}`,
      async () => {
        await balancer.takeOut(address!);
        await replace(undefined);
        balancer.putBack(address!);
      },
    ]),
  ];
  const edge = (until - Date.now()) * EDGE;
  await wait(edge);
  for (const [at, [title, step]] of steps.entries()) {
    console.log(`${time(Date.now())}  ${title}`);
    await step();
    await wait(Math.max(0, (until - edge - Date.now()) / (steps.length - at)));
  }
}
