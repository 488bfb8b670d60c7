import type { AuthenticationRef } from '../../domain/payments/workflow-contract.js';
import type { Authentications } from '../../storage/payments/authentications.js';
import { endedDelivery } from '../../storage/payments/ended-delivery.js';
import { type CompletionDependencies, createCompletion, inTurn } from '../webhooks/completion.js';

export interface PaymentDependencies extends CompletionDependencies {
  authentications: Pick<Authentications, 'end' | 'getById'>;
  now: () => Date | Promise<Date>;
}

export type PaymentActivities = ReturnType<typeof createPaymentActivities>;

/** The step of an authentication's expiry. It can be repeated. */
export function createPaymentActivities(deps: PaymentDependencies) {
  const complete = createCompletion(deps, inTurn);
  return {
    /**
     * started | eligibility_checked -> expired, when its time has passed, with the delivery that notifies the merchant.
     * @returns milliseconds until the authentication expires; 0 when it has ended
     */
    async expireAuthentication({ authentication: id, org }: AuthenticationRef): Promise<number> {
      const record = await deps.authentications.getById(org, id);
      if (!record) return 0;
      const now = await deps.now();
      const remainingMs = record.expires_at.getTime() - now.getTime();
      // The clocks of Temporal and of this machine may differ.
      if (record.status !== 'closed' && remainingMs > 0) return remainingMs;
      await complete(org, async (tx) => {
        const expired = await deps.authentications.end(org, id, 'expired', now, tx);
        return expired ? endedDelivery(expired, now) : undefined;
      });
      return 0;
    },
  };
}
