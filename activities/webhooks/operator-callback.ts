import type { Logger } from 'pino';
import type { DeliveryPolicy } from '../../domain/webhooks/delivery-policy.js';
import { OPERATOR_NOTICE } from '../../domain/webhooks/events.js';
import { webhookHeaders } from '../../domain/webhooks/headers.js';
import { describeNotice } from '../../domain/webhooks/operator-notices.js';
import type { OperatorNotices } from '../../storage/webhooks/operator-notices.js';
import type { Outcome } from '../../storage/webhooks/outcome-updates.js';
import type { Callback } from './callback.js';

/** The receiver of the operator, from the settings. */
export interface OperatorReceiver {
  url: string;
  secret: string;
}

/** Callbacks with notices to the operator. @param receiver null: the operator wants none any more */
export function createOperatorCallback(receiver: OperatorReceiver | null, policy: DeliveryPolicy): Callback {
  return {
    policy,
    async prepare({ _id, event_type, notice }) {
      if (!receiver || !notice)
        return { error_code: 'WEBHOOK_NOT_FOUND', error_message: 'POSTBACK_OPERATOR_WEBHOOK_URL is not set any more.' };
      const body = Buffer.from(JSON.stringify(describeNotice(_id, notice)));
      const headers = webhookHeaders({ delivery_id: _id, event: event_type }, body, [receiver.secret], new Date());
      return { url: receiver.url, headers, body };
    },
  };
}

export type FailureNotices = ReturnType<typeof createFailureNotices>;

/**
 * Notices of what attempts have led to. An error is logged: it must not hold back the deliveries themselves.
 * @param notices null: there is no operator's receiver
 */
export function createFailureNotices(notices: Pick<OperatorNotices, 'add'> | null, log: Pick<Logger, 'error'>) {
  const add = async (...notice: Parameters<OperatorNotices['add']>) => {
    await notices?.add(...notice).catch((err) => log.error({ err }, 'notice to the operator not stored'));
  };
  return {
    async deliveriesFailed(outcomes: readonly Outcome[], since: Date): Promise<void> {
      if (!notices) return;
      const failed = outcomes.filter(({ claimed, recorded }) => isFailure(claimed.event_type, recorded));
      const byReceiver = Map.groupBy(failed, ({ claimed }) => claimed.receiver);
      const adding = [...byReceiver].map(([receiver, ofReceiver]) => {
        const { claimed, recorded } = ofReceiver.at(-1)!;
        const { _id: delivery_id, org, event_type } = claimed;
        const { error_code, error_message: reason } = recorded;
        const about = { org, event_type, count: ofReceiver.length, since, delivery_id, error_code, reason };
        return add(receiver, { kind: 'delivery_failed', ...about });
      });
      await Promise.all(adding);
    },
    webhookDisabled: (org: string, reason: string, since: Date): Promise<void> =>
      add(org, { kind: 'webhook_disabled', org, count: 1, since, reason }),
  };
}

/** A notice about a notice would never end, and a delivery that a later version replaces is no failure. */
function isFailure(event: string, { status, error_code }: Outcome['recorded']): boolean {
  return status === 'permanently_failed' && event !== OPERATOR_NOTICE && error_code !== 'SUPERSEDED';
}
