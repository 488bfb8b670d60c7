import { fetchDocumented } from './conformance.js';
import { eventually } from './eventually.js';

export interface ApiResponse {
  status: number;
  headers: Headers;
  body: {
    success: boolean;
    // The tests check responses field by field; types here would repeat the schemas.
    // biome-ignore lint/suspicious/noExplicitAny: see above
    data: any;
    error: { code: string; message: string } | null;
    meta: { request_id: string; latency_ms: number };
  };
}

/** The status and the code that identify an error. */
export const statusAndCode = ({ status, body }: ApiResponse) => [status, body.error?.code];

export type Client = ReturnType<typeof createClient>;

/** Calls the API as any HTTP client would, and validates each response against `/openapi.json`. */
export function createClient(apiUrl: string, key: string) {
  const base = { Authorization: `Bearer ${key}`, 'API-Version': '2' };

  async function request(
    method: string,
    path: string,
    options: { json?: unknown; body?: string | FormData | Buffer<ArrayBuffer>; headers?: Record<string, string> } = {},
  ): Promise<ApiResponse> {
    return fetchDocumented(apiUrl, method, path, {
      headers: {
        ...base,
        ...(options.json === undefined ? {} : { 'Content-Type': 'application/json' }),
        ...options.headers,
      },
      body: options.json === undefined ? options.body : JSON.stringify(options.json),
    });
  }

  const client = {
    /** The key that the client sends. */
    key,
    request,
    get: (path: string) => request('GET', path),
    post: (path: string, json?: unknown) => request('POST', path, { json }),
    del: (path: string) => request('DELETE', path),

    async createDatabase(name: string): Promise<void> {
      const created = await client.post('/databases', { database: name });
      if (created.status !== 202) throw new Error(`POST /databases: ${JSON.stringify(created.body)}`);
      await eventually(`database ${name} ready`, async () => {
        return (await client.get(`/databases/status?database=${name}`)).body.data?.infra.ready_for_ingestion;
      });
    },

    ingest(
      fields: Record<string, string>,
      files: { name: string; content: Uint8Array | string }[] = [],
    ): Promise<ApiResponse> {
      const form = new FormData();
      for (const [name, value] of Object.entries(fields)) form.set(name, value);
      for (const file of files)
        form.append('documents', new Blob([file.content as Uint8Array<ArrayBuffer> | string]), file.name);
      return request('POST', '/context/ingest', { body: form });
    },

    async status(
      database: string,
      id: string,
    ): Promise<{ indexing_status: string; error_code: string | null; error_message: string | null }> {
      const response = await client.get(`/context/status?database=${database}&id=${encodeURIComponent(id)}`);
      return response.body.data?.statuses[0];
    },

    /** The ids of the items of the hits of a query, best first. */
    async idsFound(database: string, query: string, more: object = {}): Promise<string[]> {
      const { body } = await client.post('/query', { database, query, ...more });
      return body.data?.chunks.map((chunk: { source_id: string }) => chunk.source_id);
    },

    /** The file or text that an item was ingested from. */
    async content(database: string, id: string): Promise<Buffer> {
      const path = `/context/${encodeURIComponent(id)}/content?database=${database}`;
      return Buffer.from(await (await fetch(apiUrl + path, { headers: base })).arrayBuffer());
    },

    ended(database: string, id: string) {
      return eventually(`item ${id} ended`, async () => {
        const status = await client.status(database, id);
        return ['completed', 'errored'].includes(status?.indexing_status) ? status : undefined;
      });
    },
  };
  return client;
}
