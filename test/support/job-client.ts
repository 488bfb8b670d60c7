import { fetchDocumented } from './conformance.js';
import { eventually } from './eventually.js';

export interface JobResponse {
  status: number;
  headers: Headers;
  text: string;
  // The tests check responses field by field; types here would repeat the schemas.
  // biome-ignore lint/suspicious/noExplicitAny: see above
  body: any;
}

export type JobClient = ReturnType<typeof createJobClient>;

/** Calls the AI job service as any HTTP client would. */
export function createJobClient(apiUrl: string, key: string) {
  async function request(
    method: string,
    path: string,
    body?: string | FormData,
    extraHeaders: Record<string, string> = {},
  ): Promise<JobResponse> {
    return fetchDocumented(apiUrl, method, path, {
      headers: {
        Authorization: `Bearer ${key}`,
        ...(typeof body === 'string' ? { 'Content-Type': 'application/json' } : {}),
        ...extraHeaders,
      },
      body,
    });
  }

  const client = {
    request,
    get: (path: string) => request('GET', path),

    submit: (model: string, input: object, rest: object = {}) =>
      request('POST', '/v3/ai/async', JSON.stringify({ model, input, ...rest })),

    upload(
      filename: string,
      content: Uint8Array | string,
      field = 'file',
      headers: Record<string, string> = {},
    ): Promise<JobResponse> {
      const form = new FormData();
      form.append(field, new Blob([content as Uint8Array<ArrayBuffer> | string]), filename);
      return request('POST', '/v3/upload', form, headers);
    },

    /** Polls the job until it has ended. */
    async finished({ status, body: submitted }: Pick<JobResponse, 'status' | 'body'>) {
      if (status !== 202) throw new Error(`not accepted: ${JSON.stringify(submitted)}`);
      return eventually(`job ${submitted.job_id} finished`, async () => {
        const { body } = await client.get(`/v3/ai/async/${submitted.job_id}`);
        return ['success', 'fail'].includes(body.status) ? body : undefined;
      });
    },
  };
  return client;
}
