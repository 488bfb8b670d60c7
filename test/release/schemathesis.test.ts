import { expect, test } from '@jest/globals';
import { runSchemathesis, schemathesisEnvironment } from '../../bench/schemathesis.js';
import { makeKey, OPERATOR_TOKEN, sharedProduct } from '../support/product.js';

const env = schemathesisEnvironment();
if (!env) console.warn('skipped: comparing responses with /openapi.json needs python3 with its package schemathesis');

// The examples of the document, its limits, and a few random requests of each operation: `npm run bench -- schemathesis` sends many.
(env ? test : test.skip)('Schemathesis finds no response that differs from /openapi.json', async () => {
  const { apiUrl, mongodbUri } = sharedProduct();
  const { code, report } = await runSchemathesis(env!, {
    apiUrl,
    createKey: async (kind) => (await makeKey(mongodbUri, 'schemathesis', kind)).key,
    operatorToken: OPERATOR_TOKEN,
    seed: 1,
    phases: 'examples,coverage,fuzzing',
  });
  expect(code === 0 ? '' : report).toBe('');
  const [selected, tested] = [/Selected: (\d+)\//, /Tested: (\d+)/].map((pattern) => Number(pattern.exec(report)?.[1]));
  expect(tested).toBe(selected);
  expect(Number(/(\d+) generated/.exec(report)?.[1])).toBeGreaterThan(selected! * 2);
});
