/** Responses of the payment service. */
import { z } from 'zod';
import {
  AUTHENTICATION_STATES,
  createAuthenticationSchema,
  eligibilityCheckSchema,
  SDK_NEXT_ACTIONS,
} from '../../domain/payments/authentications.js';

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

export const createdSchema = z.object({
  ...payment,
  client_secret: z.string().meta({ description: 'For the browser. Only this response has it.' }),
});

export const authenticationSchema = z
  .object({
    ...payment,
    customer: customer.unwrap().nullable(),
    return_url: z.string().nullable(),
    metadata: metadata.unwrap(),
    eligibility_check: z
      .object({
        sdk_next_action: z.enum(SDK_NEXT_ACTIONS),
        checked_at: time,
        eligibility_check_data: eligibilityCheckSchema.shape.eligibility_check_data.nullable(),
      })
      .nullable(),
    closed_at: time.nullable(),
  })
  .meta({ id: 'Authentication' });

export const eligibilitySchema = z.object({ authentication_id: z.string(), sdk_next_action: z.enum(SDK_NEXT_ACTIONS) });
