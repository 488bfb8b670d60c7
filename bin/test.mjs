#!/usr/bin/env node
// `npm test` checks lint, types, the direction of imports, regular expressions and known vulnerabilities, then runs the tests. `npm test -- <path>` runs only those tests.
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { build, checkNode, install, root, run } from './prepare.mjs';

const args = process.argv.slice(2);
const fast = args.includes('--fast');
const chosen = args.filter((arg) => arg !== '--fast').map((arg) => arg.replace(/\.ts$/, '.js'));
const everything = !fast && chosen.length === 0;
const tool = (...path) => join(root, 'node_modules', ...path);

async function step(title, work) {
  console.error(`\n── ${title}`);
  const code = await work();
  if (code !== 0) finish({ passed: 0, failed: 1 });
}

async function compile() {
  try {
    await build();
    return 0;
  } catch (error) {
    console.error(error.message);
    return 1;
  }
}

async function jest(patterns) {
  const folder = mkdtempSync(join(tmpdir(), 'postback-test-'));
  const report = join(folder, 'jest.json');
  const code = await run(process.execPath, [
    '--experimental-vm-modules',
    '--disable-warning=ExperimentalWarning',
    tool('jest', 'bin', 'jest.js'),
    '--config',
    fast ? 'jest.fast.config.mjs' : 'jest.config.mjs',
    '--json',
    `--outputFile=${report}`,
    ...patterns,
  ]);
  let result = { passed: 0, failed: 1 };
  try {
    const numbers = JSON.parse(readFileSync(report, 'utf8'));
    // A file that cannot be loaded has no tests to count, but it failed.
    const failed = numbers.numFailedTests + numbers.numRuntimeErrorTestSuites;
    result = { passed: numbers.numPassedTests, failed: code === 0 ? failed : Math.max(failed, 1) };
  } catch {
    console.error('Jest ended without a report.');
  }
  rmSync(folder, { recursive: true, force: true });
  return result;
}

function finish({ passed, failed }) {
  console.log(`${passed} passed, ${failed} failed`);
  process.exit(failed === 0 ? 0 : 1);
}

checkNode();
try {
  await install();
} catch (error) {
  console.error(error.message);
  finish({ passed: 0, failed: 1 });
}
if (everything)
  await step('lint and format', () => run(process.execPath, [tool('@biomejs', 'biome', 'bin', 'biome'), 'check', '.']));
await step('types and build', compile);
if (everything) {
  const depcruise = tool('dependency-cruiser', 'bin', 'dependency-cruise.mjs');
  await step('imports', () => run(process.execPath, [depcruise, '--config', '.dependency-cruiser.cjs', 'dist']));
  await step('dependencies', () => run(process.execPath, [join(root, 'bin', 'audit.mjs')]));
  await step('regular expressions', () => run(process.execPath, [tool('eslint', 'bin', 'eslint.js'), 'dist']));
}
console.error('\n── tests');
finish(await jest(chosen));
