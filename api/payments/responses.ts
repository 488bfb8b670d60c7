/** Responses of the payment service. */
import { z } from 'zod';
import { createAuthenticationSchema, SDK_NEXT_ACTIONS, statusAt } from '../../domain/payments/authentications.js';
import { DECISION_EFFECTS, DECISION_SIGNALS } from '../../domain/payments/eligibility-decision.js';
import { AUTHENTICATION_STATES } from '../../domain/payments/states.js';
import type { AuthenticationRecord, Authentications } from '../../storage/payments/authentications.js';
import { listSchema } from '../pagination.js';
import { pickFields } from '../pick-fields.js';
import { shownOnce } from '../webhooks/signing-secret.js';

const time = z.iso.datetime();
const { customer, metadata } = createAuthenticationSchema.shape;
const payment = {
  authentication_id: z.string(),
  status: z.enum(AUTHENTICATION_STATES),
  amount: z.int().meta({ description: "In the currency's minor unit." }),
  currency: z.string().meta({ example: 'EUR' }),
  created_at: time,
  expires_at: time,
};

const { authentication_id, ...details } = payment;
export const createdSchema = z.object({
  authentication_id,
  client_secret: z.string().meta({ description: 'For the browser. Only this response has it.' }),
  ...details,
  webhook_signing_secret: shownOnce,
});

export const authenticationSchema = z
  .object({
    ...payment,
    customer: customer.unwrap().nullable(),
    return_url: z.string().nullable(),
    webhook_url: z.string().nullable(),
    metadata: metadata.unwrap(),
    eligibility_check: z
      .object({
        sdk_next_action: z.enum(SDK_NEXT_ACTIONS),
        reasons: z
          .array(z.object({ network: z.string(), signal: z.enum(DECISION_SIGNALS), effect: z.enum(DECISION_EFFECTS) }))
          .meta({
            description:
              'The rows of the decision table that applied, with the names of the networks as they were sent.',
          }),
        checked_at: time,
        eligibility_check_data: z
          .object({ click_to_pay: z.record(z.string(), z.unknown()) })
          .nullable()
          .meta({ description: 'As it was sent.' }),
      })
      .nullable(),
    closed_at: time.nullable(),
  })
  .meta({ id: 'Authentication' });

const authenticationSummarySchema = z.object({
  ...payment,
  sdk_next_action: z.enum(SDK_NEXT_ACTIONS).nullable(),
  closed_at: time.nullable(),
});

export const authenticationListSchema = listSchema('authentications', authenticationSummarySchema);

/** An authentication in a list. */
export function summariseAuthentication(record: AuthenticationRecord, now: Date) {
  return pickFields(authenticationSummarySchema, {
    ...record,
    authentication_id: record._id,
    status: statusAt(record, now),
    sdk_next_action: record.check?.sdk_next_action ?? null,
  });
}

/** An authentication for the merchant's server. */
export async function describeAuthentication(
  authentications: Authentications,
  record: AuthenticationRecord,
  now: Date,
) {
  const { customer = null, return_url = null, metadata = {} } = authentications.openDetails(record);
  const { check } = record;
  return pickFields(authenticationSchema, {
    ...record,
    authentication_id: record._id,
    status: statusAt(record, now),
    customer,
    return_url,
    metadata,
    eligibility_check: check && {
      sdk_next_action: check.sdk_next_action,
      reasons: authentications.openReasons(record._id, check),
      checked_at: check.checked_at.toISOString(),
      eligibility_check_data: await authentications.findCheckData(record, now),
    },
  });
}

export const eligibilitySchema = z.object({ authentication_id: z.string(), sdk_next_action: z.enum(SDK_NEXT_ACTIONS) });
