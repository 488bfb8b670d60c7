/** Responses of the routes for keys. */
import { z } from 'zod';
import { KEY_KINDS, type Principal, SCOPES } from '../domain/api-keys.js';
import { KEY_STATES, keyStateOf } from '../domain/key-states.js';
import type { ApiKeyRecord } from '../storage/api-keys.js';
import { pickFields } from './pick-fields.js';

const time = z.iso.datetime();

export const keySchema = z
  .object({
    id: z.string(),
    kind: z.enum(KEY_KINDS),
    label: z.string(),
    prefix: z.string().meta({ description: 'The first characters of the key.', example: 'pbk_api_x7Qf' }),
    scopes: z.array(z.enum(SCOPES)),
    crews: z
      .array(z.string())
      .nullable()
      .meta({ description: 'Of a key of kind `crew_user`: the crews that it is for; null: all.' }),
    state: z.enum(KEY_STATES),
    current: z.boolean().meta({ description: 'Whether this request was sent with it.' }),
    created_by: z.string().nullable().meta({ description: 'The id of the key that asked for it; null: an operator.' }),
    created_at: time,
    expires_at: time.nullable(),
    revoked_at: time.nullable(),
    last_used_at: time.nullable().meta({ description: 'May be a minute old. null: it was never used.' }),
  })
  .meta({ id: 'Key' });

/** The only response with the key itself. */
export const createdKeySchema = keySchema.extend({
  key: z.string().meta({ description: 'The key itself. It cannot be read again.' }),
  message: z.string(),
});

export const STORE_IT = 'Store the key now: it cannot be read again.';

export const revokedKeySchema = keySchema.extend({ message: z.string() });

/** @param asking the key of the request, if it has one */
export function describeKey(record: ApiKeyRecord, now: Date, asking?: Principal): z.input<typeof keySchema> {
  return pickFields(keySchema, {
    crews: null,
    created_by: null,
    last_used_at: null,
    ...record,
    id: record._id,
    prefix: record.hint.replace(/…$/, ''),
    state: keyStateOf(record, now),
    current: record._id === asking?.key_id,
  });
}
