import { readdirSync, readFileSync } from 'node:fs';
import { describe, expect, test } from '@jest/globals';
import { Worker } from '@temporalio/worker';
import { pino } from 'pino';
import { workflowBundle } from '../worker/bundle.js';
import { installTemporalLogger } from '../worker/logging.js';

installTemporalLogger(pino({ level: 'silent' }));

const FOLDER = 'test/histories';
const recorded = readdirSync(FOLDER).filter((name) => name.endsWith('.json'));

describe('executions that run during a deployment continue', () => {
  test('every workflow has a recorded history', () => {
    const types = new Set(
      recorded.map((name) => historyOf(name).events[0].workflowExecutionStartedEventAttributes.workflowType.name),
    );
    expect([...types].sort()).toEqual([
      'clearRemovedItems',
      'compactSearchIndex',
      'deleteDatabase',
      'deliverLane',
      'deliverWebhook',
      'dropAbandonedFiles',
      'expireAuthentication',
      'indexItem',
      'indexItems',
      'provisionDatabase',
      'rebuildIndex',
      'refreshIndexRows',
      'removeConnector',
      'replayDeliveries',
      'runAiJob',
      'runCrew',
      'startIngestedItems',
      'sweep',
      'syncConnector',
    ]);
  });

  test.each(recorded)('%s replays on this code', async (name) => {
    await Worker.runReplayHistory({ workflowBundle: await workflowBundle() }, historyOf(name));
  });

  test('a history of other code does not replay', async () => {
    const history = historyOf('index-item-completed.json');
    for (const event of history.events) {
      const scheduled = event.activityTaskScheduledEventAttributes;
      if (scheduled?.activityType.name === 'extractItem') scheduled.activityType.name = 'someOtherStep';
    }
    await expect(Worker.runReplayHistory({ workflowBundle: await workflowBundle() }, history)).rejects.toThrow();
  });

  test('histories contain ids and states, but no content and no secrets', () => {
    for (const name of recorded) {
      const text = readFileSync(`${FOLDER}/${name}`, 'utf8');
      const payloads = [...text.matchAll(/"data": "([A-Za-z0-9+/=]+)"/g)].map(([, data]) =>
        Buffer.from(data!, 'base64'),
      );
      expect(payloads.length).toBeGreaterThan(0);
      expect(`${text}${payloads.join('\n')}`).not.toMatch(/The note|pbk_|whsec_/);
    }
  });
});

// Temporal's JSON format of a history.
// biome-ignore lint/suspicious/noExplicitAny: see above
function historyOf(name: string): any {
  return JSON.parse(readFileSync(`${FOLDER}/${name}`, 'utf8'));
}
