/** The few calls that the demo makes, as any client would. */
export class DemoApi {
  constructor(
    private readonly url: string,
    private readonly key: string,
  ) {}

  // The answers' shapes are the API's; spelling them out here would only repeat its schemas.
  // biome-ignore lint/suspicious/noExplicitAny: see above
  async call(method: string, path: string, body?: unknown): Promise<any> {
    const response = await fetch(this.url + path, {
      method,
      headers: { ...this.headers(), ...(body === undefined ? {} : { 'Content-Type': 'application/json' }) },
      body: body === undefined ? undefined : JSON.stringify(body),
    });
    return this.data(response, `${method} ${path}`);
  }

  async upload(path: string, form: FormData): Promise<unknown> {
    return this.data(
      await fetch(this.url + path, { method: 'POST', headers: this.headers(), body: form }),
      `POST ${path}`,
    );
  }

  private headers(): Record<string, string> {
    return { Authorization: `Bearer ${this.key}`, 'API-Version': '2' };
  }

  private async data(response: Response, what: string) {
    const answer = (await response.json()) as { data: unknown; error: { code: string; message: string } | null };
    if (answer.error) throw new Error(`${what}: ${answer.error.code}: ${answer.error.message}`);
    return answer.data;
  }
}
