import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import { JOB_STATUS_TABLE } from '../domain/ai-jobs/states.js';
import { SYNC_STATUS_TABLE } from '../domain/connectors/states.js';
import { DATABASE_STATUS_TABLE, INDEXING_STATUS_TABLE, REBUILD_STATUS_TABLE } from '../domain/content/states.js';
import { CREW_TASK_STATUS_TABLE } from '../domain/crews/states.js';
import { AUTHENTICATION_STATE_TABLE } from '../domain/payments/states.js';
import { type StateTable, statesOf, statesWith } from '../domain/state-machine.js';
import { DELIVERY_STATE_TABLE, REPLAY_STATUS_TABLE } from '../domain/webhooks/states.js';

const TABLES: Record<string, StateTable> = {
  CREW_TASK_STATUS_TABLE,
  DATABASE_STATUS_TABLE,
  DELIVERY_STATE_TABLE,
  INDEXING_STATUS_TABLE,
  JOB_STATUS_TABLE,
  REBUILD_STATUS_TABLE,
  REPLAY_STATUS_TABLE,
  SYNC_STATUS_TABLE,
  AUTHENTICATION_STATE_TABLE,
};

/** The folders of the product, and of its benches. */
const FOLDERS = [
  'activities',
  'api',
  'bench',
  'cli',
  'console',
  'domain',
  'mcp',
  'runtime',
  'storage',
  'temporal',
  'worker',
];

test.each(Object.entries(TABLES))('%s starts unfinished and can end', (_, table) => {
  const unfinished = statesWith(table, { phase: 'unfinished' });
  expect(unfinished[0]).toBe(statesOf(table)[0]);
  expect(statesWith(table, { phase: 'final' })).toEqual(
    statesOf(table).filter((state) => table[state]?.phase !== 'unfinished'),
  );
  expect(unfinished.length).toBeLessThan(statesOf(table).length);
});

test('no other file lists states: each list derives from its table', () => {
  const listed = FOLDERS.flatMap((folder) =>
    sourcesIn(folder).flatMap((file) =>
      listsOfWords(readFileSync(file, 'utf8'))
        .filter((words) => Object.values(TABLES).some((table) => words.every((word) => word in table)))
        .map((words) => `${file}: ${words.join(', ')}`),
    ),
  );
  expect(listed).toEqual([]);
});

test('lists of states are found in the forms that the formatter writes', () => {
  expect(listsOfWords("const a = ['queued', 'processing'];\nconst b = [\n  'pending',\n  'failed',\n];")).toEqual([
    ['queued', 'processing'],
    ['pending', 'failed'],
  ]);
});

function sourcesIn(folder: string): string[] {
  return readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((file) => /\.[jt]s$/.test(file))
    .map((file) => join(folder, file));
}

/** @returns the words of each array of several string literals; the formatter writes all with single quotes */
function listsOfWords(source: string): string[][] {
  const lists = source.match(/\[\s*'\w+'(?:,\s*'\w+')+,?\s*\]/g) ?? [];
  return lists.map((list) => [...list.matchAll(/'(\w+)'/g)].map(([, word]) => word!));
}
