import { proxyLocalActivities, sleep } from '@temporalio/workflow';
import type { PaymentActivities } from '../../activities/payments/expire-authentication.js';
import type { AuthenticationRef } from '../../domain/payments/workflow-contract.js';

const { expireAuthentication: expire } = proxyLocalActivities<PaymentActivities>({
  startToCloseTimeout: '5 seconds',
  retry: { initialInterval: '1 second', backoffCoefficient: 2, maximumInterval: '1 minute' },
  summary: 'Store the end of the authentication and its callback',
});

/**
 * The durable timer of an authentication: Temporal starts it when the authentication expires (the workflow's start delay),
 * so until then it costs nothing. An authentication that was closed before has ended already.
 */
export async function expireAuthentication(authentication: AuthenticationRef): Promise<void> {
  let remainingMs = await expire(authentication);
  while (remainingMs > 0) {
    await sleep(remainingMs);
    remainingMs = await expire(authentication);
  }
}
