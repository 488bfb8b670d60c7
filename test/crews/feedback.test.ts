import { describe, expect, test } from '@jest/globals';
import { webhookUrlsOf } from '../../domain/crews/crews.js';
import { newFeedbackId } from '../../domain/ids.js';
import { type CrewFeedbackRecord, createCrewFeedback } from '../../storage/crews/feedback.js';
import { collectionsDuringTests } from '../support/during-tests.js';
import { databaseBeside, sharedProduct } from '../support/product.js';

describe('the feedback that an attempt gets', () => {
  const collections = collectionsDuringTests(databaseBeside(sharedProduct().mongodbUri, 'crews-feedback'));
  const ref = { execution: 'exe', org: 'feedback', task: 'draft', attempt: 16 };

  const add = (text: string, minute: number, changes: Partial<CrewFeedbackRecord>) =>
    createCrewFeedback(collections).add({
      ...{ _id: newFeedbackId(), org: ref.org, execution: ref.execution, task: ref.task, attempt: 1, text },
      ...{ is_approve: false, urls: webhookUrlsOf({}), output: null, expires_at: null },
      created_at: new Date(0),
      applied_at: new Date(minute * 60_000),
      ...changes,
    } as CrewFeedbackRecord);

  test('is the latest of other tasks and the latest rejections of its own, oldest first', async () => {
    // Stored in another order than applied.
    for (let n = 15; n >= 1; n--) {
      await add(`rejection ${n}`, n, { attempt: n });
      await add(`remark ${n}`, n, { task: n % 2 === 0 ? 'classify' : 'research', is_approve: n % 3 === 0 });
    }
    await add('the approval of an earlier run', 20, { attempt: 15, is_approve: true });
    await add('of this attempt', 21, { attempt: 16 });
    await add('not applied', 22, { applied_at: null });
    await add('of another execution', 23, { execution: 'other' });
    await add('of another organisation', 24, { org: 'feedback-other' });
    const { remarks, rejections } = await createCrewFeedback(collections).listForAttempt(ref, 10);
    const last = (what: string) => Array.from({ length: 10 }, (_, index) => `${what} ${index + 6}`);
    expect(rejections.map(({ text }) => text)).toEqual(last('rejection'));
    expect(remarks.map(({ text }) => text)).toEqual(last('remark'));
  });
});
