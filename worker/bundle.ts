import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { readdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import type { WorkflowBundle } from '@temporalio/worker';

const ROOT = fileURLToPath(new URL('..', import.meta.url));
/** Largest output of the bundling process, in bytes. A bundle has about 3 MB. */
const MAX_BYTES = 256 * 1024 * 1024;

/**
 * The workflows as one script for Temporal's sandbox. Bundling takes seconds, so the bundle is stored with the compiled
 * code and rebuilt when one of its sources has changed.
 */
export async function workflowBundle(): Promise<WorkflowBundle> {
  const path = `${ROOT}/workflow-bundle-${workflowBuildId()}.js`;
  try {
    return { code: readFileSync(path, 'utf8') };
  } catch {
    const bundler = fileURLToPath(new URL('./bundle-workflows.js', import.meta.url));
    const run = promisify(execFile)(
      process.execPath,
      [bundler, `${ROOT}/workflows/index.js`, `${ROOT}/workflows/tracing.js`],
      {
        maxBuffer: MAX_BYTES,
      },
    );
    const { stdout: code, stderr: warnings } = await run;
    if (warnings) console.warn(warnings);
    store(path, code);
    return { code };
  }
}

/** Renamed into place, so that a worker that starts at the same time never reads half a bundle. */
function store(path: string, code: string): void {
  try {
    writeFileSync(`${path}.${process.pid}`, code);
    renameSync(`${path}.${process.pid}`, path);
  } catch {
    // In a read-only folder (a container image), the next start bundles again.
  }
}

/** Identifies the workflow code: changes with the SDK's version and with any file under workflows/ and domain/. */
export function workflowBuildId(): string {
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
