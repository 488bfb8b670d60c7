import { expectDocumented } from './conformance.js';
import { eventually } from './eventually.js';

export interface CrewAnswer {
  status: number;
  // Answers are checked field by field in the tests; typing them here would only repeat the schemas.
  // biome-ignore lint/suspicious/noExplicitAny: see above
  body: any;
}

export type CrewClient = ReturnType<typeof createCrewClient>;

export interface Answer {
  task_id: string;
  is_approve: boolean;
  human_feedback?: string;
  taskWebhookUrl?: string;
  stepWebhookUrl?: string;
  crewWebhookUrl?: string;
}

/** Speaks to one deployed crew as any HTTP client would. */
export function createCrewClient(apiUrl: string, crew: string, key: string) {
  async function request(method: string, path: string, body?: unknown, headers: Record<string, string> = {}) {
    const response = await fetch(apiUrl + path, {
      method,
      headers: { Authorization: `Bearer ${key}`, 'Content-Type': 'application/json', ...headers },
      ...(body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
    });
    const answer: CrewAnswer = { status: response.status, body: await response.json() };
    await expectDocumented(apiUrl, method, path, answer.status, answer.body);
    return answer;
  }

  const client = {
    request,
    get: (path: string) => request('GET', path),

    kickoff: (body: unknown, headers?: Record<string, string>) =>
      request('POST', `/crews/${crew}/kickoff`, body, headers),

    /** @returns the id of the execution */
    async start(inputs: object, rest: object = {}): Promise<string> {
      const { status, body } = await client.kickoff({ inputs, ...rest });
      if (status !== 200) throw new Error(`not started: ${JSON.stringify(body)}`);
      return body.kickoff_id;
    },

    async status(id: string) {
      return (await client.get(`/crews/${crew}/${id}/status`)).body;
    },

    /** Polls until the execution has this status (and, where it is given, a task so many attempts). */
    reaches(id: string, status: string, attempts?: { task: string; count: number }) {
      return eventually(`${id} ${status}`, async () => {
        const now = await client.status(id);
        const task = attempts && now.tasks.find((one: { task_id: string }) => one.task_id === attempts.task);
        return now.status === status && (!attempts || task.attempts === attempts.count) ? now : undefined;
      });
    },

    resume: (id: string, { human_feedback = 'Fine.', ...rest }: Answer) =>
      request('POST', `/crews/${crew}/resume`, { execution_id: id, human_feedback, ...rest }),
  };
  return client;
}
