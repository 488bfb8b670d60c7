import { execFile } from 'node:child_process';
import { promisify } from 'node:util';

/** @returns the path of a version of Node.js from npm's cache or the registry; null when it cannot be fetched */
export async function nodeProgram(version: string): Promise<string | null> {
  const name = `node-${process.platform}-${process.arch}@${version}`;
  const options = ['--yes', '--package', name, '--', 'node', '-p', 'process.execPath'];
  try {
    return (await promisify(execFile)('npx', options, { timeout: 180_000 })).stdout.trim();
  } catch {
    return null;
  }
}
