import { newDeliveryId } from '../../domain/ids.js';
import { OPERATOR_NOTICE } from '../../domain/webhooks/events.js';
import { OPERATOR, type OperatorNotice } from '../../domain/webhooks/operator-notices.js';
import type { Access } from '../collections.js';
import { DEDUPE_INDEX } from '../indexes.js';
import { pendingDelivery } from './new-delivery.js';

export type OperatorNotices = ReturnType<typeof createOperatorNotices>;

/**
 * Notices to the operator, which are deliveries of their own. All that happens to one receiver in a period is one notice, due at the
 * end of the period.
 * @param url the operator's receiver
 */
export function createOperatorNotices(
  { deliveries }: Access<'deliveries'>,
  { url, periodMs }: { url: string; periodMs: number },
) {
  return {
    /** @param receiver identifies the receiver that the notice is about */
    async add(receiver: string, { count, since, ...latest }: OperatorNotice): Promise<void> {
      const period = Math.floor(since.getTime() / periodMs);
      const due = new Date((period + 1) * periodMs);
      const dedupe_key = `notice/${latest.kind}/${receiver}/${period}`;
      const added = pendingDelivery(
        {
          _id: newDeliveryId(since),
          org: OPERATOR,
          dedupe_key,
          event_type: OPERATOR_NOTICE,
          doc_id: latest.org,
          url,
          now: since,
        },
        false,
      );
      // The filter sets them.
      const { org: _org, dedupe_key: _key, ...record } = added;
      await deliveries.forOrg(OPERATOR).updateOne(
        { dedupe_key },
        {
          $setOnInsert: { ...record, next_attempt_at: due, 'notice.since': since },
          $set: Object.fromEntries(Object.entries(latest).map(([name, value]) => [`notice.${name}`, value])),
          $inc: { 'notice.count': count },
        },
        { upsert: true, hint: DEDUPE_INDEX },
      );
    },
  };
}
