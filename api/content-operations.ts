import { contentEnvelope, plainEnvelope } from './envelope.js';
import { type Operation, operations } from './operation.js';

type Tag = 'Databases' | 'Context' | 'Query' | 'Feedback' | 'Webhooks' | 'Deliveries' | 'Connectors' | 'Tenants';
type Common = Pick<Operation, 'deprecated' | 'shownAs'>;

/** Deprecated names that requests may still use, with the current names (specification, "Versioning"). */
export const DEPRECATED_NAMES = { tenant_id: 'database', sub_tenant_id: 'collection' } as const;

/** Routes of content, webhooks and connectors, which clients see as one API. @param tag a heading of the document */
export const contentOperations = (tag: Tag, common: Common = {}) =>
  operations(tag, contentEnvelope, { aliases: DEPRECATED_NAMES, ...common });

/** The same without the envelope around a success (specification, "Errors"). */
export const plainOperations = (tag: Tag, common: Common = {}) =>
  operations(tag, plainEnvelope, { aliases: DEPRECATED_NAMES, ...common });
