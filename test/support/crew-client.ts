import { fetchDocumented } from './conformance.js';
import { eventually } from './eventually.js';

export interface CrewResponse {
  status: number;
  // The tests check responses field by field; types here would repeat the schemas.
  // biome-ignore lint/suspicious/noExplicitAny: see above
  body: any;
}

export type CrewClient = ReturnType<typeof createCrewClient>;

export interface ResumeRequest {
  task_id: string;
  is_approve: boolean;
  attempt?: number;
  human_feedback?: string;
  taskWebhookUrl?: string;
  stepWebhookUrl?: string;
  crewWebhookUrl?: string;
}

/** Calls a deployed crew as any HTTP client would. */
export function createCrewClient(apiUrl: string, crew: string, key: string) {
  async function request(
    method: string,
    path: string,
    body?: unknown,
    headers: Record<string, string> = {},
  ): Promise<CrewResponse> {
    const { status, body: received } = await fetchDocumented(apiUrl, method, path, {
      headers: { Authorization: `Bearer ${key}`, 'Content-Type': 'application/json', ...headers },
      ...(body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
    });
    return { status, body: received };
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

    /** Polls until the execution has this status and, if `attempts` is given, the task has that number of attempts. */
    reaches(id: string, status: string, attempts?: { task: string; count: number }) {
      return eventually(`${id} ${status}`, async () => {
        const now = await client.status(id);
        const task =
          attempts && now.tasks.find((candidate: { task_id: string }) => candidate.task_id === attempts.task);
        return now.status === status && (!attempts || task.attempts === attempts.count) ? now : undefined;
      });
    },

    resume: (id: string, { human_feedback = 'Fine.', ...rest }: ResumeRequest) =>
      request('POST', `/crews/${crew}/resume`, { execution_id: id, human_feedback, ...rest }),

    /** Approves the output of a task, and repeats that until the execution takes it. */
    approve: (id: string, task_id: string) =>
      eventually(`${task_id} of ${id} approved`, async () => {
        const { status } = await client.resume(id, { task_id, is_approve: true });
        return status === 200;
      }),
  };
  return client;
}
