import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { startOnPorts } from '../../dev-stack/ports.js';
import { startRestarting } from '../../dev-stack/restarting-server.js';
import { type ServerOptions, startSupervisedChild, waitUntilReady } from '../../dev-stack/supervised-child.js';
import type { Links } from './links.js';
import type { Part } from './part.js';

const BUCKET = 'postback';
const PROGRAM = fileURLToPath(new URL('./s3-process.js', import.meta.url));

/** Starts an S3-compatible server for the files of items and jobs. */
export async function startObjectStorage(
  { dir: folder, claimsDir, env, log }: Omit<ServerOptions, 'binary'>,
  links: Links,
) {
  const dir = join(folder, 's3');
  mkdirSync(join(dir, 'data'), { recursive: true });
  const server = await startOnPorts({ dir, claimsDir }, { s3: 0 }, ({ s3: port }) =>
    startRestarting(
      's3',
      async () => {
        const started = await startSupervisedChild({
          command: process.execPath,
          args: [PROGRAM, `${port}`, join(dir, 'data'), BUCKET],
          env,
          logFile: join(dir, 's3.log'),
          pidFile: join(dir, 's3.pid'),
        });
        await waitUntilReady(started, 's3', () => respondsToHttp(port));
        return { ...started, port };
      },
      log,
    ),
  );
  const { port } = server;
  // Not at the top: its packages are not installed in production, where the other benchmarks run.
  const { S3_ENVIRONMENT } = await import('../../test/support/s3.js');
  const part: Part = {
    name: 's3',
    pid: server.pid,
    failed: server.failed,
    isWell: () => respondsToHttp(port),
    link: 's3',
  };
  const settings = {
    POSTBACK_FILES_URI: `s3://${BUCKET}/files`,
    AWS_ENDPOINT_URL: `http://${await links.add('s3', `127.0.0.1:${port}`)}`,
    AWS_REGION: 'us-east-1',
    ...S3_ENVIRONMENT,
  };
  return { part, settings, stop: server.stop };
}

/** Any response counts: the probe has no keys. */
async function respondsToHttp(port: number): Promise<boolean> {
  const response = await fetch(`http://127.0.0.1:${port}/`, { signal: AbortSignal.timeout(2_000) });
  await response.body?.cancel();
  return true;
}
