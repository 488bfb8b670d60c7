import { expectDocumented } from './conformance.js';
import { eventually } from './eventually.js';

export interface JobAnswer {
  status: number;
  text: string;
  // Answers are checked field by field in the tests; typing them here would only repeat the schemas.
  // biome-ignore lint/suspicious/noExplicitAny: see above
  body: any;
}

export type JobClient = ReturnType<typeof createJobClient>;

/** Speaks to the AI job service as any HTTP client would. */
export function createJobClient(apiUrl: string, key: string) {
  async function request(method: string, path: string, body?: string | FormData): Promise<JobAnswer> {
    const response = await fetch(apiUrl + path, {
      method,
      headers: {
        Authorization: `Bearer ${key}`,
        ...(typeof body === 'string' ? { 'Content-Type': 'application/json' } : {}),
      },
      body,
    });
    const text = await response.text();
    const json = response.headers.get('content-type')?.startsWith('application/json');
    const answer = { status: response.status, text, body: json ? JSON.parse(text) : undefined };
    if (json) await expectDocumented(apiUrl, method, path, answer.status, answer.body);
    return answer;
  }

  const client = {
    request,
    get: (path: string) => request('GET', path),

    submit: (model: string, input: object, rest: object = {}) =>
      request('POST', '/v3/ai/async', JSON.stringify({ model, input, ...rest })),

    upload(filename: string, content: Uint8Array | string, field = 'file'): Promise<JobAnswer> {
      const form = new FormData();
      form.append(field, new Blob([content as Uint8Array<ArrayBuffer> | string]), filename);
      return request('POST', '/v3/upload', form);
    },

    /** Polls the job until it has ended. */
    async finished({ status, body: submitted }: JobAnswer) {
      if (status !== 202) throw new Error(`not accepted: ${JSON.stringify(submitted)}`);
      return eventually(`job ${submitted.job_id} finished`, async () => {
        const { body } = await client.get(`/v3/ai/async/${submitted.job_id}`);
        return ['success', 'fail'].includes(body.status) ? body : undefined;
      });
    },
  };
  return client;
}
