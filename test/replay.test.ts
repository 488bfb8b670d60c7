import { readdirSync, readFileSync } from 'node:fs';
import { beforeAll, describe, expect, test } from '@jest/globals';
import { Worker } from '@temporalio/worker';
import { pino } from 'pino';
import { workflowBundle } from '../worker/bundle.js';
import { installTemporalLogger } from '../worker/logging.js';

installTemporalLogger(pino({ level: 'silent' }));

const FOLDER = 'test/histories';
// Temporal's JSON format of histories, by name: a line each, and a file for each group.
// biome-ignore lint/suspicious/noExplicitAny: see above
const recorded: [name: string, history: any][] = readdirSync(FOLDER).flatMap((file) =>
  readFileSync(`${FOLDER}/${file}`, 'utf8')
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line))
    .map(({ name, history }): [string, unknown] => [name, history]),
);
const OTHER_CODE = 'of-other-code';

describe('executions that run during a deployment continue', () => {
  /** Why the replay of a history failed, by its name. */
  const errors = new Map<string, Error | undefined>();

  // In one worker: each would load the SDK and all workflows again.
  beforeAll(async () => {
    const options = { workflowBundle: await workflowBundle() };
    for await (const { workflowId, error } of Worker.runReplayHistories(options, histories()))
      errors.set(workflowId, error);
  });

  test('every workflow has a recorded history', () => {
    const types = new Set(
      recorded.map(([, { events }]) => events[0].workflowExecutionStartedEventAttributes.workflowType.name),
    );
    expect([...types].sort()).toEqual([
      'clearRemovedItems',
      'compactSearchIndex',
      'deleteDatabase',
      'deliverWebhook',
      'dropAbandonedFiles',
      'expireAuthentication',
      'followBacklog',
      'indexItems',
      'indexLargeItem',
      'provisionDatabase',
      'rebuildIndex',
      'reconcile',
      'refreshIndexRows',
      'removeConnector',
      'replayDeliveries',
      'runAiJobs',
      'runCrew',
      'startIngestedItems',
      'syncConnector',
    ]);
  });

  test.each(recorded.map(([name]) => name))('%s replays on this code', (name) => {
    expect([errors.has(name), errors.get(name)]).toEqual([true, undefined]);
  });

  test('a history of other code does not replay', () => {
    expect(errors.get(OTHER_CODE)).toMatchObject({ name: 'DeterminismViolationError' });
  });

  test('histories contain ids and states, but no content and no secrets', () => {
    for (const [, history] of recorded) {
      const text = JSON.stringify(history);
      const payloads = [...text.matchAll(/"data":"([A-Za-z0-9+/=]+)"/g)].map(([, data]) =>
        Buffer.from(data!, 'base64'),
      );
      expect(payloads.length).toBeGreaterThan(0);
      expect(`${text}${payloads.join('\n')}`).not.toMatch(/The note|pbk_|whsec_/);
    }
  });
});

function* histories() {
  for (const [workflowId, history] of recorded) yield { workflowId, history };
  yield { workflowId: OTHER_CODE, history: historyOfOtherCode() };
}

/** A history in which a workflow scheduled another activity than this code. */
function historyOfOtherCode() {
  const [, history] = structuredClone(recorded.find(([name]) => name === 'index-large-item-completed')!);
  for (const event of history.events) {
    const scheduled = event.activityTaskScheduledEventAttributes;
    if (scheduled?.activityType.name === 'extractItem') scheduled.activityType.name = 'someOtherStep';
  }
  return history;
}
