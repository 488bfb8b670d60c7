import { bodyOf, type Schemas } from '../../client/index.js';
import { AUTHENTICATION_STATE_TABLE, type AuthenticationStatus } from '../../domain/payments/states.js';
import { fields, localTime, paintState, print, table } from './output.js';
import { findServer, listOf, type ServerOptions } from './server.js';

interface CreateOptions extends ServerOptions {
  amount: number;
  currency: string;
  returnUrl?: string;
  webhook?: string;
}

/** `postback payments create`: creates an authentication. Its secrets cannot be shown again. */
export async function createAuthentication(options: CreateOptions): Promise<void> {
  const { amount, currency, returnUrl: return_url, webhook: webhook_url } = options;
  // The server checks the currency.
  const body = { amount, currency: currency as 'EUR', return_url, webhook_url };
  const data = await bodyOf(findServer(options).client('payment_secret').POST('/authentication', { body }));
  const next = ['payments', 'show', data.authentication_id];
  print({ ...options, next }, data, () => fields(asShown(data)));
}

/** `postback payments list` */
export async function listAuthentications(
  options: ServerOptions & { status?: AuthenticationStatus; limit: number },
): Promise<void> {
  const { status, limit } = options;
  const client = findServer(options).client('payment_secret');
  const page = (cursor?: string) => bodyOf(client.GET('/authentication', { params: { query: { status, cursor } } }));
  const authentications = await listOf('authentications', page, limit);
  const rows = authentications.map((each) => ({
    authentication: each.authentication_id,
    amount: amountOf(each),
    status: paintState(AUTHENTICATION_STATE_TABLE, each.status),
    check: each.sdk_next_action,
    created: localTime(each.created_at),
  }));
  const [newest] = authentications;
  const next = newest && ['payments', 'show', newest.authentication_id];
  print({ ...options, next }, { authentications }, () => table(rows));
}

/** `postback payments show` */
export async function showAuthentication(id: string, options: ServerOptions): Promise<void> {
  const client = findServer(options).client('payment_secret');
  printAuthentication(await bodyOf(client.GET('/authentication/{id}', { params: { path: { id } } })), options);
}

/** `postback payments close` */
export async function closeAuthentication(id: string, options: ServerOptions): Promise<void> {
  const client = findServer(options).client('payment_secret');
  const data = await bodyOf(client.POST('/authentication/{id}/close', { params: { path: { id } } }));
  printAuthentication(data, options);
}

function printAuthentication(data: Schemas['Authentication'], options: ServerOptions): void {
  const { eligibility_check: check, authentication_id: id, closed_at } = data;
  const next = ['payments', ...(closed_at === null ? ['close', id] : ['list'])];
  print({ ...options, next }, data, () => {
    const { return_url, webhook_url, metadata, customer } = data;
    const others = {
      closed: localTime(closed_at),
      return_url,
      webhook_url,
      customer: customer && JSON.stringify(customer),
      metadata: Object.keys(metadata).length > 0 && JSON.stringify(metadata),
      check: check?.sdk_next_action,
    };
    const rows = check?.reasons.map(({ network, signal, effect }) => ({ network, signal, effect })) ?? [];
    const reasons = rows.length > 0 ? [table(rows)] : [];
    return [fields({ ...asShown(data), ...others }), ...reasons].join('\n\n');
  });
}

/** The fields that a new authentication has too. */
function asShown(
  data: Pick<
    Schemas['Authentication'],
    'authentication_id' | 'status' | 'amount' | 'currency' | 'created_at' | 'expires_at'
  > & { client_secret?: string; webhook_signing_secret?: string },
) {
  return {
    authentication: data.authentication_id,
    status: paintState(AUTHENTICATION_STATE_TABLE, data.status),
    amount: amountOf(data),
    created: localTime(data.created_at),
    expires: localTime(data.expires_at),
    'client secret': data.client_secret,
    'signing secret': data.webhook_signing_secret,
  };
}

/** The amount as people write it, with as many decimals as the currency has. */
function amountOf({ amount, currency }: { amount: number; currency: string }): string {
  const { maximumFractionDigits = 2 } = new Intl.NumberFormat('en', { style: 'currency', currency }).resolvedOptions();
  return `${(amount / 10 ** maximumFractionDigits).toFixed(maximumFractionDigits)} ${currency}`;
}
