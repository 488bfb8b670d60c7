import Router from '@koa/router';
import { z } from 'zod';
import { ACTOR_TYPES, AUDITED } from '../domain/audit.js';
import type { AuditRecord } from '../storage/audit.js';
import type { Dependencies } from './dependencies.js';
import { contentEnvelope } from './envelope.js';
import { operations } from './operation.js';
import { byId, listSchema, pageQuery, readPage } from './pagination.js';
import { pickFields } from './pick-fields.js';
import type { RequestState } from './request-context.js';

const NEWEST_FIRST = byId('aud');

const entrySchema = z
  .object({
    id: z.string(),
    at: z.iso.datetime(),
    action: z.enum(AUDITED),
    done: z.boolean().meta({
      description: 'false: the server ended, or failed, before it knew whether the act succeeded.',
    }),
    actor: z.object({
      type: z.enum(ACTOR_TYPES),
      key_id: z.string().nullable().meta({ description: 'Of a key.' }),
      label: z.string().nullable(),
    }),
    subject: z.object({ id: z.string().nullable(), name: z.string().nullable() }),
    address: z
      .string()
      .nullable()
      .meta({ description: 'Where the request came from, by `POSTBACK_TRUSTED_PROXIES`; null: the command line.' }),
    request_id: z.string().nullable(),
  })
  .meta({ id: 'AuditEntry' });

/** `GET /audit`: what administrators of the organisation, and operators, have done in it. */
export function auditRoutes({ audit }: Dependencies): Router<RequestState> {
  const router = new Router<RequestState>();
  router.get(
    '/audit',
    operations('Audit', contentEnvelope)(
      {
        summary: 'List audit entries',
        description: 'Who has created, changed or deleted what, when and from where. Entries are kept for 90 days.',
        scope: 'admin',
        query: pageQuery(NEWEST_FIRST),
        response: listSchema('entries', entrySchema, 'Newest first.'),
      },
      async (_ctx, { org, query, respond }) => {
        const { records, next_cursor } = await readPage(query, NEWEST_FIRST, (page) => audit.listForOrg(org, page));
        respond({ entries: records.map(describeEntry), count: records.length, next_cursor });
      },
    ),
  );
  return router;
}

function describeEntry(record: AuditRecord): z.input<typeof entrySchema> {
  return pickFields(entrySchema, {
    ...record,
    id: record._id,
    at: record.created_at,
    actor: { key_id: null, label: null, ...record.actor },
    subject: { id: record.subject.id ?? null, name: record.subject.name ?? null },
  });
}
