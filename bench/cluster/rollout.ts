import { mkdtempSync, symlinkSync } from 'node:fs';
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
  const folder = join(mkdtempSync(join(tmpdir(), 'postback-release-')), 'code');
  const git = (...args: string[]) => runCommand('git', ['-C', ROOT, ...args], process.env, MINUTE);
  const commit = (await git('rev-parse', '--short', ref)).trim();
  await git('worktree', 'add', '--detach', folder, commit);
  const remove = async () => void (await git('worktree', 'remove', '--force', folder));
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

/**
 * Replaces every process by one of this code, one after the other, as a deployment does: an API leaves the balancer first,
 * and ends when its requests have ended.
 */
export async function rollOver({ product, balancer }: Cluster, until: number): Promise<void> {
  const edge = (until - Date.now()) * EDGE;
  await wait(edge);
  const pause = Math.max(0, until - Date.now() - edge) / product.length;
  for (const part of product) {
    const next = Date.now() + pause;
    console.log(`${time(Date.now())}  replacing ${part.name}`);
    const address = part.kind === 'api' ? part.address! : null;
    if (address !== null) await balancer.takeOut(address);
    await part.replace(undefined);
    if (address !== null) balancer.putBack(address);
    await wait(Math.max(0, next - Date.now()));
  }
}
