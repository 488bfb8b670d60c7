import { createMerchant } from '../payments.js';
import type { Recording } from './recording.js';

/** Records the end of an authentication that nobody closes. */
export async function recordPayments({ org, product, record }: Recording): Promise<void> {
  const merchant = await createMerchant(product, org);
  await record('expire-authentication', `authentication/${(await merchant.start()).id}`);
}
