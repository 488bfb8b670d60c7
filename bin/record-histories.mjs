#!/usr/bin/env node
// `npm run record-histories` records what `test/replay.test.ts` replays: test/support/record-histories.ts.
import { build, install } from './prepare.mjs';
import { continueOnSupportedNode } from './supported-node.mjs';

await continueOnSupportedNode();
await install();
await build();
await import('../dist/test/support/record-histories.js');
