import { workflowIds } from '../workflow-ids.js';
import { ownedBy, PRIORITIES, type WorkflowStarter } from '../workflow-starter.js';

/** The fields of an authentication that starting its timer needs; a subset of `AuthenticationRecord`. */
export interface StartExpiryInput {
  _id: string;
  org: string;
  expires_at: Date;
}

export type PaymentStarters = ReturnType<typeof createPaymentStarters>;

/** Starts the timers of authentications. */
export function createPaymentStarters({ start, now }: WorkflowStarter) {
  return {
    /** Starts the workflow that ends an authentication; its first task is due when the authentication expires. */
    async startExpiry({ _id, org, expires_at }: StartExpiryInput): Promise<void> {
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
