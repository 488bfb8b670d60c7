import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { promisify } from 'node:util';
import { expect, test } from '@jest/globals';

const { engines } = JSON.parse(readFileSync('package.json', 'utf8'));
/** The first release of the oldest line: 22.19.0. */
const OLDEST = `${engines.node.replace('>=', '')}.0`;

test('the oldest Node.js that is supported runs the product: it starts, indexes files and answers a query', async () => {
  const nodeOf = ['--yes', '--package', `node-${process.platform}-${process.arch}@${OLDEST}`, '--', 'node'];
  const onOldest = async (...args: string[]) => (await promisify(execFile)('npx', [...nodeOf, ...args])).stdout;

  const version = await onOldest('--version').catch((error: Error) => error.message);
  if (version.trim() !== `v${OLDEST}`) {
    console.warn(`skipped: Node.js ${OLDEST} could not be fetched: ${version}`);
    return;
  }

  expect(await onOldest('bin/smoke.mjs')).toContain(`smoke test passed on Node v${OLDEST}`);
});
