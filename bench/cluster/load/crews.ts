import type { LoadContext, LoadKind } from './kind.js';

const CREW = '/crews/with-person';
const TASK = 'first';

/** Executions of a crew that wait for a person, who approves them after a while. */
export async function crews({ requests, receiver, createKey }: LoadContext): Promise<LoadKind[]> {
  const key = await createKey('crew_org', 'bench');
  await requests.send('POST', '/crews/signing-secret', { key, body: {} });
  const started: string[] = [];
  const approved = new Set<string>();
  const wrong: string[] = [];
  const read = async (id: string) =>
    (await requests.send('GET', `${CREW}/${id}/status`, { key, startsWork: false })).body;
  const announced = (id: string, event: string) =>
    receiver.received.some(
      ({ body, behaviour }) => body.execution_id === id && body.event === event && behaviour === 'accepts',
    );

  async function approve(id: string): Promise<void> {
    const { status } = await read(id);
    if (status === 'running' || status === 'retrying') return;
    if (status === 'pending_human_input') {
      const urls = { crewWebhookUrl: receiver.url, taskWebhookUrl: receiver.url };
      const body = { execution_id: id, task_id: TASK, human_feedback: 'Fine.', is_approve: true, ...urls };
      const answer = await requests.send('POST', `${CREW}/resume`, { key, body, allow: [400] });
      // An earlier try of this request may have resumed it.
      if (answer.status === 400) {
        if (answer.tries === 1) wrong.push(`${id}: the approval was rejected: ${JSON.stringify(answer.body)}`);
        if ((await read(id)).status === 'pending_human_input') return;
      }
    } else if (status !== 'completed') wrong.push(`${id}: ${status} before its approval`);
    approved.add(id);
  }
  const approveNext = async () => {
    const id = started.find((each) => !approved.has(each) && announced(each, 'task_pending_human_input'));
    if (id !== undefined) await approve(id);
  };

  return [
    {
      name: 'crews',
      everyMs: 5_000,
      async send() {
        const urls = { crewWebhookUrl: receiver.url, taskWebhookUrl: receiver.url };
        const body = { inputs: { topic: 'the lamp' }, ...urls };
        started.push((await requests.send('POST', `${CREW}/kickoff`, { key, body })).body.kickoff_id);
      },
      accepted: () => started.length,
      async missing() {
        for (const id of started) if (!approved.has(id)) await approve(id);
        const unfinished: string[] = [];
        for (const id of started) {
          const { status } = await read(id);
          if (status !== 'completed') unfinished.push(`${id}: ${status}`);
          else if (!announced(id, 'crew_completed')) unfinished.push(`${id}: no callback of its end`);
        }
        return unfinished;
      },
      violations: () => wrong,
    },
    {
      name: 'approvals',
      everyMs: 3_000,
      send: approveNext,
      accepted: () => approved.size,
      missing: async () => [],
    },
  ];
}
