import { createHash } from 'node:crypto';
import { readdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { fileURLToPath } from 'node:url';
import { bundleWorkflowCode, type WorkflowBundle } from '@temporalio/worker';

const ROOT = fileURLToPath(new URL('..', import.meta.url));

/**
 * The workflows as one script for Temporal's sandbox. Bundling takes seconds, so the result is kept beside the
 * compiled code and made anew when any source of it has changed.
 */
export async function workflowBundle(): Promise<WorkflowBundle> {
  const path = `${ROOT}/workflow-bundle-${fingerprint()}.js`;
  try {
    return { code: readFileSync(path, 'utf8') };
  } catch {
    const bundle = await bundleWorkflowCode({
      workflowsPath: `${ROOT}/workflows/index.js`,
      logger: { trace() {}, debug() {}, info() {}, warn: console.warn, error: console.error, log() {} },
    });
    keep(path, bundle.code);
    return bundle;
  }
}

/** Renamed into place, so that two workers that start together cannot see half of it. */
function keep(path: string, code: string): void {
  try {
    writeFileSync(`${path}.${process.pid}`, code);
    renameSync(`${path}.${process.pid}`, path);
  } catch {
    // A folder that cannot be written to (an image's) costs the next start its seconds, nothing else.
  }
}

function fingerprint(): string {
  const { version } = createRequire(import.meta.url)('@temporalio/workflow/package.json') as { version: string };
  const hash = createHash('sha256').update(version);
  for (const folder of ['workflows', 'domain']) {
    const names = readdirSync(`${ROOT}/${folder}`, { recursive: true, encoding: 'utf8' });
    for (const name of names.filter((file) => file.endsWith('.js')).sort()) {
      hash.update(name).update(readFileSync(`${ROOT}/${folder}/${name}`));
    }
  }
  return hash.digest('hex').slice(0, 16);
}
