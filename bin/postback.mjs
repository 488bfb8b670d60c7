#!/usr/bin/env node
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { prepare, root } from './prepare.mjs';
import { installRelease, isRelease } from './release.mjs';
import { continueOnSupportedNode } from './supported-node.mjs';

await continueOnSupportedNode();
let folder = root;
try {
  if (isRelease()) folder = await installRelease();
  else await prepare({ tools: false });
} catch (error) {
  console.error(error.message);
  process.exit(1);
}
// In the same process, so that Ctrl-C and signals reach the command.
await import(pathToFileURL(join(folder, 'dist', 'cli', 'main.js')).href);
