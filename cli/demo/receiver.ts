import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { buffer } from 'node:stream/consumers';
import {
  type CrewCallback,
  type IndexingEvent,
  type JobCallback,
  verifyCrewCallback,
  verifyIndexingWebhook,
  verifyJobCallback,
} from '../../receiver/index.js';

/** How often the receiver of job callbacks responds with 503 before it accepts one. */
export const JOB_FAILURES = 2;
/** Its `Retry-After`: seconds until the next attempt. */
const RETRY_AFTER_S = 1;

/** A receiver as a user would write it: it verifies the raw body, responds quickly, and stores the event. */
export async function startDemoReceiver() {
  const server = createServer(async (request, response) => {
    const body = await buffer(request);
    const { headers, url } = request;
    try {
      if (url === '/jobs') {
        receiver.jobAttempts += 1;
        if (receiver.jobAttempts <= JOB_FAILURES) {
          response.writeHead(503, { 'Retry-After': RETRY_AFTER_S }).end();
          return;
        }
        receiver.jobs.push(verifyJobCallback(body, headers, receiver.publicKey));
      } else if (url === '/crews') {
        receiver.crewEvents.push(verifyCrewCallback(body, headers, receiver.crewSecret));
      } else {
        receiver.items.push(verifyIndexingWebhook(body, headers, receiver.itemSecret));
      }
      response.writeHead(204).end();
    } catch {
      receiver.rejected += 1;
      response.writeHead(401).end();
    }
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const receiver = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    itemSecret: '',
    crewSecret: '',
    publicKey: '',
    items: [] as IndexingEvent[],
    jobs: [] as JobCallback[],
    crewEvents: [] as CrewCallback[],
    jobAttempts: 0,
    rejected: 0,
    async close(): Promise<void> {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
  return receiver;
}

export type DemoReceiver = Awaited<ReturnType<typeof startDemoReceiver>>;
