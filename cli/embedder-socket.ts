import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** The address of a Unix socket holds 104 bytes on macOS, 108 on Linux. */
const MAX_PATH_BYTES = 100;

/** @returns a path for the socket of the embedding process: in the data folder, or in a temporary one if that is too long */
export function embedderSocket(dataDir: string): { path: string; release(): void } {
  const path = join(dataDir, 'embedder.sock');
  if (Buffer.byteLength(path) <= MAX_PATH_BYTES) return { path, release: () => rmSync(path, { force: true }) };
  const folder = mkdtempSync(join(tmpdir(), 'postback-'));
  return { path: join(folder, 'embedder.sock'), release: () => rmSync(folder, { recursive: true, force: true }) };
}
