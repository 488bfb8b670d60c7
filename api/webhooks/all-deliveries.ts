import { z } from 'zod';
import type { KeyKind } from '../../domain/api-keys.js';
import { AUTHENTICATION_ENDED, type CallbackEvent, CREW_EVENTS } from '../../domain/webhooks/events.js';
import { authenticate } from '../authenticate.js';
import type { Dependencies } from '../dependencies.js';
import { contentEnvelope, contentErrors } from '../envelope.js';
import { jsonBody } from '../json-body.js';
import { operations } from '../operation.js';
import { ORGANISATION_KEY, routesOf, type Service } from '../service.js';
import { deliveryRoutes } from './delivery-routes.js';

const TAG = 'All deliveries';

const KINDS = ['item', 'job', 'crew', 'authentication'] as const;
type Kind = (typeof KINDS)[number];

const EVENTS: Record<Kind, readonly CallbackEvent[]> = {
  item: ['indexing.status_changed'],
  job: ['async_job_completed'],
  crew: CREW_EVENTS,
  authentication: [AUTHENTICATION_ENDED],
};

/** Bodies and answers may have the output of an agent, or data of a payment: the key of the service reads them. */
const BODIES: Partial<Record<KeyKind, readonly CallbackEvent[]>> = {
  api: [...EVENTS.item, ...EVENTS.job],
  crew_org: EVENTS.crew,
  payment_secret: EVENTS.authentication,
};

/** Kinds of keys that may use the list. */
const KEYS: readonly KeyKind[] = ['api', 'crew_org', 'payment_secret'];

/** A key for payments sees nothing of the other services. */
const visibleTo = (key: KeyKind): readonly CallbackEvent[] =>
  key === 'payment_secret' ? EVENTS.authentication : Object.values(EVENTS).flat();

/** `/deliveries`: the deliveries of all services of the organisation in one list. Each service also lists its own. */
export function allDeliveriesService(deps: Dependencies): Service {
  const router = deliveryRoutes(deps, {
    prefix: '/deliveries',
    operation: operations(TAG, contentEnvelope),
    noun: { one: 'delivery of any service', many: 'deliveries of all services' },
    description:
      'Webhooks of items, and callbacks of AI jobs, crews and authentications; `event_type` tells them apart.',
    filters: { kind: z.enum(KINDS).optional().meta({ description: 'What the deliveries are about.' }) },
    mayHandle: ({ kind }, { event_type }) => BODIES[kind]?.includes(event_type) ?? false,
    scopeOf({ state, query }) {
      const { org, kind: key } = state.principal;
      const kind = KINDS.find((each) => each === query.kind);
      return { org, events: visibleTo(key).filter((event) => !kind || EVENTS[kind].includes(event)) };
    },
  });
  return {
    paths: ['/deliveries'],
    errors: contentErrors,
    middleware: [authenticate(deps.keys, KEYS), deps.rateLimit, jsonBody(), routesOf(router)],
    document: {
      tags: [
        {
          name: TAG,
          description:
            'The deliveries of all services of the organisation. Body, address and answers of a delivery are null, and it cannot be retried, unless the key is of its service: `api` for items and jobs, `crew_org` for crews, `payment_secret` for authentications. A key of kind `payment_secret` is a bearer token here, and sees authentications only.',
        },
      ],
      security: ORGANISATION_KEY,
    },
  };
}
