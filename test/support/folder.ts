import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll } from '@jest/globals';

/** A folder of a test file, removed after its tests. */
export function temporaryFolder(name: string): string {
  const folder = mkdtempSync(join(tmpdir(), `postback-${name}-`));
  afterAll(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}
