import { readFileSync } from 'node:fs';
import { expect, test } from '@jest/globals';
import type { CallbackEvent } from '../domain/webhooks/events.js';
import { readConfig } from '../runtime/config.js';
import { createCallbacks } from '../worker/callbacks.js';

const HOUR_MS = 3_600_000;
/** An event of each service, and how the header of the table names the service. */
const SERVICES: [named: string, event: CallbackEvent][] = [
  ['Indexing webhooks', 'indexing.status_changed'],
  ['callbacks of crews', 'task_pending_human_input'],
  ['payment authentications', 'authentication.ended'],
  ['AI job callbacks', 'async_job_completed'],
];

const page = readFileSync('docs/receivers.md', 'utf8');
const cellsOf = (row: RegExp) =>
  row
    .exec(page)![0]
    .split('|')
    .map((cell) => cell.trim());

test.each(SERVICES)('docs/receivers.md says when %s are retried', (named, event) => {
  const column = cellsOf(/^\| +\| Indexing.*$/m).findIndex((cell) => cell.includes(named));
  const { scheduleMs, timeoutMs, finalReason } = createCallbacks(readConfig({}), { registrations: {} } as never)[event]
    .policy;
  const within = `within ${timeoutMs / 1000} s`;
  const hours = Math.round(scheduleMs.reduce((sum, ms) => sum + ms) / HOUR_MS);
  expect(cellsOf(/^\| retried when .*$/m)[column]).toBe(
    finalReason(400) === null
      ? `the response is not 2xx ${within}, for about ${hours} hours; 410 stops it`
      : `the response is 5xx or does not arrive ${within}, up to ${scheduleMs.length} times`,
  );
});
