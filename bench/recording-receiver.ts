import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

export interface RecordingReceiver {
  url: string;
  /** How often a callback was taken, by the id of the item, job or execution that it announces. */
  taken: ReadonlyMap<string, number>;
  refused(): number;
  close(): Promise<void>;
}

/** Each so-many-th thing is refused with 503 when it is announced for the first time. */
const REFUSED_AT_FIRST = 5;

/** A receiver of every kind of callback, who keeps count. */
export async function startRecordingReceiver(): Promise<RecordingReceiver> {
  const taken = new Map<string, number>();
  const refused = new Set<string>();
  let seen = 0;
  const server = createServer(async (request, response) => {
    const pieces: Buffer[] = [];
    for await (const piece of request) pieces.push(piece);
    const body = JSON.parse(Buffer.concat(pieces).toString()) as {
      id?: string;
      job_id?: string;
      execution_id?: string;
    };
    const id = body.id ?? body.job_id ?? body.execution_id!;
    if (!taken.has(id) && !refused.has(id) && seen++ % REFUSED_AT_FIRST === 0) {
      refused.add(id);
      response.writeHead(503).end();
      return;
    }
    taken.set(id, (taken.get(id) ?? 0) + 1);
    response.writeHead(204).end();
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`,
    taken,
    refused: () => refused.size,
    async close() {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}
