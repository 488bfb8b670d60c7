import { createRequire } from 'node:module';
import type TestSequencerModule from '@jest/test-sequencer';
import { SLOW_FILES } from './slow-files.js';

// Jest loads this file by `require`, where Node versions differ in what importing a CommonJS module gives.
const { default: TestSequencer } = createRequire(import.meta.url)('@jest/test-sequencer') as typeof TestSequencerModule;

const RANKS = new Map(SLOW_FILES.map((file, rank) => [file, rank]));

/** Starts the longest test files first, so that no process runs a long file alone at the end. */
export default class LongestFirst extends TestSequencer {
  override sort(...[tests]: Parameters<InstanceType<typeof TestSequencer>['sort']>): typeof tests {
    return [...tests].sort((a, b) => rank(a.path) - rank(b.path));
  }
}

function rank(path: string): number {
  const file = /\/test\/(.*)\.test\.js$/.exec(path)?.[1] ?? '';
  return RANKS.get(file) ?? RANKS.size;
}
