import { createServer, type ServerResponse } from 'node:http';
import { closeServer, listen } from '../../test/support/loopback.js';

/** What a receiver did with a callback. */
export type Behaviour = 'accepts' | 'rejects' | 'hangs' | 'closes' | 'trickles';

export interface ReceivedCallback {
  /** Of the delivery, or of the job: the same in each attempt. */
  webhookId: string;
  // biome-ignore lint/suspicious/noExplicitAny: callbacks of several services
  body: any;
  at: number;
  behaviour: Behaviour;
}

export interface ClusterReceiver {
  url: string;
  received: ReceivedCallback[];
  close(): Promise<void>;
}

/** @param behave decides what happens to a callback by the number of the attempt that arrives, from 1 */
export async function startClusterReceiver(
  behave: (attempt: number, webhookId: string) => Behaviour,
): Promise<ClusterReceiver> {
  const received: ReceivedCallback[] = [];
  const attempts = new Map<string, number>();
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('error', () => undefined);
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const body = JSON.parse(Buffer.concat(chunks).toString());
      // A job has one callback, which has no such header.
      const webhookId = String(request.headers['webhook-id'] ?? body.job_id);
      const attempt = (attempts.get(webhookId) ?? 0) + 1;
      attempts.set(webhookId, attempt);
      const behaviour = behave(attempt, webhookId);
      received.push({ webhookId, body, at: Date.now(), behaviour });
      RESPONSES[behaviour](response);
    });
  });
  return { url: `http://${await listen(server)}/`, received, close: () => closeServer(server) };
}

const RESPONSES: Record<Behaviour, (response: ServerResponse) => void> = {
  accepts: (response) => response.writeHead(204).end(),
  rejects: (response) => response.writeHead(503).end(),
  hangs: () => undefined,
  closes: (response) => response.destroy(),
  trickles(response) {
    response.writeHead(200);
    const timer = setInterval(() => response.write('x'), 500);
    response.once('close', () => clearInterval(timer));
  },
};

/** Misbehaves at the first attempt of a quarter of the deliveries, each in its own way. */
export function sometimesWrong(attempt: number, webhookId: string): Behaviour {
  if (attempt > 1) return 'accepts';
  const sum = [...webhookId].reduce((total, character) => total + character.charCodeAt(0), 0);
  return ({ 0: 'rejects', 1: 'rejects', 2: 'closes', 3: 'hangs' } as Record<number, Behaviour>)[sum % 16] ?? 'accepts';
}
