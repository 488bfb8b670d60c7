import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { expect, test } from '@jest/globals';
import Koa from 'koa';
import { MongoNetworkError, MongoServerError } from 'mongodb';
import { pino } from 'pino';
import { codedErrors } from '../api/envelope.js';
import { handleErrors } from '../api/errors.js';
import type { RequestState } from '../api/request-context.js';

const TOO_LARGE = 'transaction is too large and will not fit in the storage engine cache';

test.each([
  ['a transaction that does not fit into its cache', new MongoServerError({ code: 388, message: TOO_LARGE }), 413],
  ['a transaction that took too long', new MongoServerError({ code: 290, message: 'lifetime limit' }), 503],
  ['a connection that is gone', new MongoNetworkError('connection 1 closed'), 503],
  ['a defect', new MongoServerError({ code: 2, message: 'unknown operator: $nope' }), 500],
])('of MongoDB: %s', async (_name, error, status) => {
  const app = new Koa<RequestState>().use(handleErrors(pino({ level: 'silent' }), codedErrors)).use(() => {
    throw error;
  });
  const server = app.listen(0, '127.0.0.1');
  await once(server, 'listening');
  try {
    const response = await fetch(`http://127.0.0.1:${(server.address() as AddressInfo).port}/`);
    expect(response.status).toBe(status);
    // What the database says is for operators.
    expect(await response.text()).not.toContain(error.message);
  } finally {
    server.close();
  }
});
