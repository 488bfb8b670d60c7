import type Router from '@koa/router';
import { CREW_EVENTS } from '../../domain/webhooks/events.js';
import { authenticate } from '../authenticate.js';
import type { Dependencies } from '../dependencies.js';
import { crewErrors } from '../envelope.js';
import { jsonBody } from '../json-body.js';
import type { RequestState } from '../request-context.js';
import { routesOf, type Service } from '../service.js';
import { deliveryRoutes } from '../webhooks/delivery-routes.js';
import { signingSecretRoutes } from '../webhooks/signing-secret.js';
import { deployedCrewRoutes, organisationOnly, requireOrganisation } from './deployed-crews.js';
import { crewDocument, crewOperation } from './document.js';
import { executionListRoutes } from './execution-lists.js';
import { executionRoutes } from './executions.js';
import { resumeRoutes } from './resume.js';
import { reviewLinkRoutes } from './review.js';

/** Crews of agents: kickoff, status, and feedback by people. */
export function crewService(deps: Dependencies): Service {
  return {
    paths: ['/crews'],
    errors: crewErrors,
    document: crewDocument,
    middleware: [
      authenticate(deps.keys, ['crew_org', 'crew_user']),
      deps.rateLimit,
      jsonBody(),
      routesOf(deployedCrewRoutes(deps)),
      routesOf(crewSigningSecretRoutes(deps)),
      routesOf(executionListRoutes(deps)),
      routesOf(executionRoutes(deps)),
      routesOf(resumeRoutes(deps)),
      routesOf(reviewLinkRoutes(deps)),
      routesOf(crewCallbackRoutes(deps)),
    ],
  };
}

/** The secret that signs an organisation's crew callbacks; independent of its indexing webhook. */
function crewSigningSecretRoutes(deps: Dependencies): Router<RequestState> {
  return signingSecretRoutes({
    prefix: '/crews/signing-secret',
    operation: crewOperation,
    name: 'the signing secret for crews',
    signed: 'crews',
    description: 'Signs the callbacks of all crews of the organisation.',
    middleware: [organisationOnly],
    set: (org, secret) => deps.crewSigningSecrets.set(org, secret),
    removal: {
      message: 'Signing secret deleted; callbacks are unsigned.',
      remove: (org) => deps.crewSigningSecrets.remove(org),
    },
  });
}

/** Callbacks of a crew, their attempts, and manual retries. The crew need not be deployed any more. */
function crewCallbackRoutes(deps: Dependencies): Router<RequestState> {
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
