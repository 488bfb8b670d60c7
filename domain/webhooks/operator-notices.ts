/** Notices to the operator: what callbacks of all organisations lead to, one for each receiver and period. */
import { z } from 'zod';
import { OPERATOR_NOTICE } from './events.js';

/** The organisation whose deliveries the notices are. No key belongs to it, so no client sees them. */
export const OPERATOR = '(operator)';

export const NOTICE_KINDS = ['delivery_failed', 'webhook_disabled'] as const;
export type NoticeKind = (typeof NOTICE_KINDS)[number];

/** What a notice says; stored with its delivery, and counted until it is sent. */
export interface OperatorNotice {
  kind: NoticeKind;
  /** Whose receiver it is. */
  org: string;
  /** The event of the latest delivery. */
  event_type?: string;
  /** Deliveries that have failed for good, or times that the webhook was disabled. */
  count: number;
  since: Date;
  /** The latest of these deliveries. */
  delivery_id?: string;
  error_code?: string | null;
  reason: string | null;
}

/** The body of a notice. */
export const operatorNoticeSchema = z
  .object({
    event: z.literal(OPERATOR_NOTICE),
    delivery_id: z.string().meta({ description: 'Of the notice itself.' }),
    kind: z.enum(NOTICE_KINDS),
    organisation: z.string(),
    count: z.int().meta({ description: 'Deliveries at one receiver that have failed for good in the period.' }),
    since: z.iso.datetime(),
    reason: z.string().nullable(),
    latest: z
      .object({ delivery_id: z.string(), event_type: z.string(), error_code: z.string().nullable() })
      .optional()
      .meta({ description: 'The latest of these deliveries.' }),
  })
  .meta({ id: 'OperatorNotice' });

export function describeNotice(delivery_id: string, notice: OperatorNotice): z.input<typeof operatorNoticeSchema> {
  const { kind, org, count, since, reason, event_type, error_code = null } = notice;
  return {
    event: OPERATOR_NOTICE,
    delivery_id,
    kind,
    organisation: org,
    count,
    since: since.toISOString(),
    reason,
    ...(notice.delivery_id && event_type
      ? { latest: { delivery_id: notice.delivery_id, event_type, error_code } }
      : {}),
  };
}
