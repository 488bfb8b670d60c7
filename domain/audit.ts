/** Acts of administrators that the audit log records, with the words in which people read them. */
export const AUDIT_ACTIONS = {
  'organisation.created': 'created the organisation',
  'key.created': 'created the key',
  'key.revoked': 'revoked the key',
  'signing_secret.set': 'set the signing secret of',
  'signing_secret.deleted': 'deleted the signing secret of',
  'signing_key.rotated': 'rotated the signing key of',
  'webhook.registered': 'registered the webhook',
  'webhook.disabled': 'disabled the webhook',
  'webhook.deleted': 'deleted the webhook',
  'database.created': 'created the database',
  'database.deleted': 'deleted the database',
  'connector.created': 'created the connector',
  'connector.changed': 'changed the connector',
  'connector.deleted': 'deleted the connector',
  'review_links.revoked': 'revoked the review links of',
  'output.approved': 'approved the output of',
  'output.rejected': 'rejected the output of',
} as const;
export type AuditAction = keyof typeof AUDIT_ACTIONS;

export const AUDITED = Object.keys(AUDIT_ACTIONS) as AuditAction[];

/** Who acts: a key, the holder of a review link, or an operator, by the operator's token or on the command line. */
export const ACTOR_TYPES = ['key', 'review_link', 'operator', 'command_line'] as const;

export interface Actor {
  type: (typeof ACTOR_TYPES)[number];
  /** Of a key. */
  key_id?: string;
  label?: string;
}

/** What is acted on. Names and ids only: never a secret. */
export interface AuditSubject {
  id?: string | undefined;
  name?: string | undefined;
}
