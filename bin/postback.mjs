#!/usr/bin/env node
import { build, checkNode, install } from './prepare.mjs';

checkNode();
try {
  await install();
  await build();
} catch (error) {
  console.error(error.message);
  process.exit(1);
}
// In the same process, so that Ctrl-C and signals reach the command.
await import('../dist/cli/main.js');
