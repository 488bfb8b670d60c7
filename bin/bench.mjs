#!/usr/bin/env node
// `npm run bench` runs a benchmark of bench/README.md.
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { installBench, prepare, root } from './prepare.mjs';
import { continueOnSupportedNode } from './supported-node.mjs';

await continueOnSupportedNode();
try {
  await prepare({ tools: true });
  // Charts are drawn with packages that nothing else uses.
  if (process.argv[2] === 'page') await installBench();
} catch (error) {
  console.error(error.message);
  process.exit(1);
}
// In the same process, so that Ctrl-C and signals reach the benchmark.
await import(pathToFileURL(join(root, 'dist', 'bench', 'main.js')).href);
