import { type ClusterReceiver, startClusterReceiver } from '../receiver.js';
import { ingestForm } from './form.js';
import { announcedItems, DATABASE, type LoadContext, type LoadKind, missingItems } from './kind.js';

/** Another organisation, whose notes are timed from the request to the webhook. */
export async function neighbour(context: LoadContext, prepare: Prepare): Promise<LoadKind & { delays(): number[] }> {
  const { requests } = context;
  const receiver = await startClusterReceiver(() => 'accepts');
  const key = await prepare('neighbour', receiver);
  const sentAt = new Map<string, number>();
  let sent = 0;
  return {
    name: "neighbour's notes",
    everyMs: 2_500,
    async send() {
      const id = `neighbour-${sent++}`;
      const body = ingestForm(DATABASE, { memories: [{ id, text: `A note of the neighbour, number ${id}.` }] });
      const from = Date.now();
      await requests.send('POST', '/context/ingest', { key, body });
      sentAt.set(id, from);
    },
    accepted: () => sentAt.size,
    missing: () => missingItems(context, [...sentAt.keys()], { key, receiver }),
    violations: () => {
      const announced = announcedItems(receiver);
      return [...sentAt.keys()].filter((id) => announced.get(id)!.size > 1).map((id) => `${id} was announced twice`);
    },
    delays() {
      const first = new Map<string, number>();
      for (const { body, at } of receiver.received) if (!first.has(body.id)) first.set(body.id, at);
      return [...sentAt].map(([id, from]) => (first.get(id) ?? Number.NaN) - from);
    },
    close: receiver.close,
  };
}

/** An organisation whose receiver never accepts anything. Its items end all the same, and it costs the others nothing. */
export async function hostile(context: LoadContext, prepare: Prepare): Promise<LoadKind> {
  const { requests } = context;
  const ways = ['hangs', 'trickles', 'closes', 'rejects'] as const;
  const receiver = await startClusterReceiver((attempt) => ways[attempt % ways.length]!);
  const key = await prepare('hostile', receiver);
  const accepted: string[] = [];
  return {
    name: 'notes to a hostile receiver',
    everyMs: 10_000,
    async send() {
      const id = `hostile-${accepted.length}`;
      const body = ingestForm(DATABASE, { memories: [{ id, text: `Nobody hears of number ${id}.` }] });
      await requests.send('POST', '/context/ingest', { key, body });
      accepted.push(id);
    },
    accepted: () => accepted.length,
    async missing() {
      const lacking = await missingItems(context, accepted, { key, receiver });
      return lacking.filter((what) => !what.endsWith('no webhook'));
    },
    close: receiver.close,
  };
}

/** Creates an organisation with a database and a registered webhook. @returns its key */
export type Prepare = (org: string, receiver: ClusterReceiver) => Promise<string>;
