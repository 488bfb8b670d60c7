import type { AuthenticationRecord } from '../../storage/payments/authentications.js';
import { workflowIds } from '../workflow-ids.js';
import { ownedBy, PRIORITIES, type WorkflowStarter } from '../workflow-starter.js';

export type PaymentStarters = ReturnType<typeof createPaymentStarters>;

/** Starts the timers of authentications. */
export function createPaymentStarters({ start, now }: WorkflowStarter) {
  return {
    /** Starts the workflow that ends an authentication; its first task is due when the authentication expires. */
    async startExpiry({
      _id,
      org,
      expires_at,
    }: Pick<AuthenticationRecord, '_id' | 'org' | 'expires_at'>): Promise<void> {
      const delayMs = expires_at.getTime() - now().getTime();
      await start('expireAuthentication', {
        workflowId: workflowIds.authentication(_id),
        taskQueue: 'control',
        args: [{ authentication: _id, org }],
        staticSummary: 'Expiry of an authentication',
        ...(delayMs > 0 ? { startDelay: delayMs } : {}),
        ...ownedBy({ org, source: _id }, PRIORITIES.upkeep),
      });
    },
  };
}
