import type { LoadContext, LoadKind } from './kind.js';

/** AI jobs with a quick provider, each with a callback. */
export function jobs({ requests, key, receiver }: LoadContext): LoadKind {
  const accepted: string[] = [];
  const isAnnounced = (id: string) =>
    receiver.received.some(({ body, behaviour }) => body.job_id === id && behaviour === 'accepts');
  return {
    name: 'jobs',
    everyMs: 2_000,
    async send() {
      const body = {
        model: 'text/language_detection/eld',
        input: { text: 'The lamp was lit at dusk, and the keeper was content.' },
        webhook_receiver: receiver.url,
      };
      accepted.push((await requests.send('POST', '/v3/ai/async', { key, body })).body.job_id);
    },
    accepted: () => accepted.length,
    async missing() {
      const silent = accepted.filter((id) => !isAnnounced(id)).map((id) => `${id}: no callback`);
      const unfinished: string[] = [];
      for (const id of accepted) {
        const { body } = await requests.send('GET', `/v3/ai/async/${id}`, { key, startsWork: false });
        if (body.status !== 'success') unfinished.push(`${id}: ${body.status}`);
      }
      return [...silent, ...unfinished];
    },
  };
}

/** Payment authentications, which end by themselves. */
export async function authentications({ requests, createKey }: LoadContext): Promise<LoadKind> {
  const key = await createKey('payment_secret', 'bench');
  const header = 'api-key';
  const accepted: string[] = [];
  return {
    name: 'authentications',
    everyMs: 6_000,
    async send() {
      const body = { amount: 1250, currency: 'EUR' };
      const response = await requests.send('POST', '/authentication', { key, header, body });
      accepted.push(response.body.authentication_id);
    },
    accepted: () => accepted.length,
    async missing() {
      const unfinished: string[] = [];
      for (const id of accepted) {
        const { body } = await requests.send('GET', `/authentication/${id}`, { key, header, startsWork: false });
        if (body.status !== 'expired') unfinished.push(`${id}: ${body.status}`);
      }
      return unfinished;
    },
  };
}
