import { contentEnvelope, plainEnvelope } from './envelope.js';
import { type Operation, operations } from './operation.js';

type Tag = 'Databases' | 'Context' | 'Query' | 'Feedback' | 'Webhooks' | 'Deliveries' | 'Connectors' | 'Tenants';
type Common = Pick<Operation, 'deprecated' | 'errorCodeAliases'>;

/** Deprecated field names that requests may still use, with the current names (specification, "Versioning"). */
export const DEPRECATED_NAMES = { tenant_id: 'database', sub_tenant_id: 'collection' } as const;

/**
 * Declares routes of content, webhooks and connectors, which are one API to clients.
 * @param tag a heading of the document
 */
export const contentOperations = (tag: Tag, common: Common = {}) =>
  operations(tag, contentEnvelope, { aliases: DEPRECATED_NAMES, ...common });

/** The same, for routes whose successful responses have no envelope (specification, "Errors"). */
export const plainOperations = (tag: Tag, common: Common = {}) =>
  operations(tag, plainEnvelope, { aliases: DEPRECATED_NAMES, ...common });
