#!/usr/bin/env node
// `npm run record-histories` records what `test/replay.test.ts` replays: test/support/record-histories.ts.
import { prepare } from './prepare.mjs';
import { continueOnSupportedNode } from './supported-node.mjs';

await continueOnSupportedNode();
await prepare({ tools: true });
await import('../dist/test/support/record-histories.js');
