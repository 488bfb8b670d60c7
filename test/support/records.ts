import type { DeliveryRecord } from '../../storage/records.js';

/** A pending delivery as the end of an item writes it. */
export function deliveryRecord({ _id, org, now }: { _id: string; org: string; now: Date }): DeliveryRecord {
  return {
    _id,
    org,
    item: `itm_${_id}`,
    version: 1,
    doc_id: 'report.pdf',
    event_type: 'indexing.status_changed',
    indexing_status: 'completed',
    payload: {
      event: 'indexing.status_changed',
      delivery_id: _id,
      id: 'report.pdf',
      database: 'library',
      collection: 'default',
      tenant_id: 'tnt_test',
      sub_tenant_id: 'default',
      status: 'completed',
      timestamp: now.toISOString(),
    },
    status: 'pending',
    attempts: 0,
    failures: 0,
    error_code: null,
    error_message: null,
    url: null,
    attempt_log: [],
    next_attempt_at: now,
    claimed_until: null,
    check_at: now,
    created_at: now,
    updated_at: now,
  };
}
