import { fetchDocumented } from './conformance.js';
import { makeKey, type ProductAddress } from './product.js';

export interface PaymentResponse {
  status: number;
  headers: Headers;
  // The tests check responses field by field; types here would repeat the schemas.
  // biome-ignore lint/suspicious/noExplicitAny: see above
  body: any;
}

export interface PaymentRequest {
  json?: unknown;
  body?: string;
  headers?: Record<string, string>;
}

/** A merchant with a server and a web page, which call the payment service with a secret and a publishable key. */
export async function createMerchant({ apiUrl, mongodbUri }: ProductAddress, org: string) {
  const secretKey = (await makeKey(mongodbUri, org, 'payment_secret')).key;
  const publishableKey = (await makeKey(mongodbUri, org, 'payment_publishable')).key;

  async function request(
    key: string,
    method: string,
    path: string,
    { json, body, headers }: PaymentRequest = {},
  ): Promise<PaymentResponse> {
    return fetchDocumented(apiUrl, method, path, {
      headers: { ...(key === '' ? {} : { 'api-key': key }), 'Content-Type': 'application/json', ...headers },
      body: json === undefined ? body : JSON.stringify(json),
    });
  }

  return {
    org,
    secretKey,
    publishableKey,
    request,
    server: (method: string, path: string, options?: PaymentRequest) => request(secretKey, method, path, options),
    browser: (method: string, path: string, options?: PaymentRequest) => request(publishableKey, method, path, options),

    async start(json: object = { amount: 1250, currency: 'EUR' }): Promise<{ id: string; secret: string }> {
      const { status, body } = await request(secretKey, 'POST', '/authentication', { json });
      if (status !== 201) throw new Error(`POST /authentication: ${status} ${JSON.stringify(body)}`);
      return { id: body.authentication_id, secret: body.client_secret };
    },

    /** Sends an eligibility check from a browser. @param networks the content of `click_to_pay` */
    check: ({ id, secret }: { id: string; secret: unknown }, networks: unknown, options: PaymentRequest = {}) =>
      request(publishableKey, 'POST', `/authentication/${id}/eligibility-check`, {
        json: { client_secret: secret, eligibility_check_data: { click_to_pay: networks } },
        ...options,
      }),

    /** Gets the stored result of the eligibility check from a browser. */
    getEligibilityResult: ({ id, secret }: { id: string; secret: string }) =>
      request(publishableKey, 'GET', `/authentication/${id}/eligibility-check`, {
        headers: { 'client-secret': secret },
      }),
  };
}

export type Merchant = Awaited<ReturnType<typeof createMerchant>>;

/** The status, type and code that identify an error. */
export function errorOf({ status, body }: PaymentResponse): [number, string | undefined, string | undefined] {
  return [status, body.error?.type, body.error?.code];
}
