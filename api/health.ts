import Router from '@koa/router';
import { z } from 'zod';
import { readinessSchema } from '../domain/readiness.js';
import { createSharedReads } from '../domain/shared-calls.js';
import type { Dependencies } from './dependencies.js';
import { plainEnvelope } from './envelope.js';
import { operations } from './operation.js';
import type { RequestState } from './request-context.js';

export type HealthDependencies = Pick<Dependencies, 'readiness' | 'loopbackAllowed' | 'proxySigns'>;

const operation = operations('Health', plainEnvelope);

const aliveSchema = z.object({ status: z.literal('ok') });
const detailsSchema = readinessSchema.extend({
  outbound: z.object({
    loopback: z.boolean().meta({ description: 'Whether webhooks may be sent to this machine itself.' }),
  }),
  untrusted_forwarding: z.literal(true).optional().meta({
    description:
      'A peer that is not in POSTBACK_TRUSTED_PROXIES has sent X-Forwarded-For, which is ignored. Behind a proxy that is not trusted, all clients share the limits of one address.',
  }),
});
const readySchema = z.object({ status: z.enum(['ready', 'unavailable']), ...detailsSchema.partial().shape });

/**
 * `/healthz`: the process runs. `/readyz`: the process can serve requests.
 * @param withDetails whether `/readyz` also says which dependency is missing
 */
export function healthRoutes(
  { readiness, loopbackAllowed, proxySigns }: HealthDependencies,
  withDetails: boolean,
): Router<RequestState> {
  const router = new Router<RequestState>();
  // Needs no key, and reads the records of all databases: requests that arrive meanwhile share the next reading.
  const read = createSharedReads((withIndexes: boolean) => String(withIndexes), readiness);

  router.get(
    '/healthz',
    operation({ summary: 'Liveness check', response: aliveSchema }, (_ctx, { respond }) => respond({ status: 'ok' })),
  );

  router.get(
    '/readyz',
    operation(
      {
        summary: 'Readiness check',
        description: 'The details are absent where the operator serves them on another port.',
        alternativeStatus: 503,
        response: readySchema,
      },
      async (ctx, { respond }) => {
        const found = await read(withDetails);
        const ready = found.temporal && found.mongodb;
        const details = {
          ...found,
          outbound: { loopback: loopbackAllowed },
          ...(proxySigns.untrustedForwarding ? { untrusted_forwarding: true as const } : {}),
        };
        respond({ status: ready ? 'ready' : 'unavailable', ...(withDetails ? details : {}) });
        if (!ready) ctx.status = 503;
      },
    ),
  );

  return router;
}
