import type Router from '@koa/router';
import { CREW_EVENTS } from '../../domain/webhooks/events.js';
import type { RequestState } from '../request-context.js';
import { type DeliveryDependencies, deliveryRoutes } from '../webhooks/delivery-routes.js';
import { requireOrganisation } from './deployed-crews.js';
import { crewOperation } from './document.js';

/** Callbacks of a crew, their attempts, and manual retries. The crew need not be deployed any more. */
export function crewCallbackRoutes(deps: DeliveryDependencies): Router<RequestState> {
  return deliveryRoutes(deps, {
    prefix: '/crews/:crew/callbacks',
    operation: crewOperation,
    noun: { one: 'crew callback', many: 'crew callbacks' },
    scopeOf({ state, params }) {
      requireOrganisation(state.principal);
      return { org: state.principal.org, events: CREW_EVENTS, crew: params.crew! };
    },
  });
}
