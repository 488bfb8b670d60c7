/** A minimal client of the HTTP API, for requests that the typed client does not have. */
export interface ApiAccess {
  readonly apiUrl: string;
  readonly key: string;
}

/**
 * Sends a request; the body is JSON unless it is a form.
 * @returns the JSON body of the response
 * @throws Error with status and body when the response is not a success
 */
// biome-ignore lint/suspicious/noExplicitAny: the shapes are those of the API's schemas
export async function request({ apiUrl, key }: ApiAccess, method: string, path: string, body?: object): Promise<any> {
  const isForm = body instanceof FormData;
  const response = await fetch(apiUrl + path, {
    method,
    headers: {
      Authorization: `Bearer ${key}`,
      'API-Version': '2',
      ...(body === undefined || isForm ? {} : { 'Content-Type': 'application/json' }),
    },
    ...(body && { body: isForm ? body : JSON.stringify(body) }),
  });
  if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${await response.text()}`);
  return response.json();
}

/** The same for the content service. @returns the `data` of its envelope */
// biome-ignore lint/suspicious/noExplicitAny: see above
export async function call(access: ApiAccess, method: string, path: string, body?: object): Promise<any> {
  return (await request(access, method, path, body)).data;
}
