import { expect, test } from '@jest/globals';
import { describeError } from '../runtime/logger.js';

test.each([
  [
    'connect to mongodb://postback:winterberry@db-1,db-2/?tls=true failed',
    'connect to mongodb://***@db-1,db-2/?tls=true failed',
  ],
  ['GET https://token@example.org/a/b@c', 'GET https://***@example.org/a/b@c'],
  ['GET https://example.org/a@b', 'GET https://example.org/a@b'],
])('the log hides the credentials in the URLs of errors: %s', (message, logged) => {
  expect(describeError(new Error(message))).toMatchObject({ type: 'Error', message: logged });
});

test('the log has no fields of an error but its type, message, code and stack', () => {
  const error = Object.assign(new Error('failed'), { code: 11000, keyValue: { note: 'winterberry' } });
  expect(JSON.stringify(describeError(error))).not.toContain('winterberry');
});
