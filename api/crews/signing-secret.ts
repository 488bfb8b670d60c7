import Router from '@koa/router';
import type { CrewSigningSecrets } from '../../storage/crews/signing-secrets.js';
import type { RequestState } from '../request-context.js';
import { deletedSchema } from '../webhooks/responses.js';
import { secretDeleted, setSecret, setSecretOperation } from '../webhooks/signing-secret.js';
import { organisationOnly } from './deployed-crews.js';
import { crewOperation } from './document.js';

export interface CrewSigningSecretDependencies {
  crewSigningSecrets: CrewSigningSecrets;
}

/** The secret that signs an organisation's crew callbacks; independent of its indexing webhook. */
export function crewSigningSecretRoutes({ crewSigningSecrets }: CrewSigningSecretDependencies): Router<RequestState> {
  const router = new Router<RequestState>({ prefix: '/crews/signing-secret' });

  router.post(
    '/',
    organisationOnly(),
    crewOperation(
      setSecretOperation(
        'Set or generate the signing secret for crews',
        'crews',
        'Signs the callbacks of all crews of the organisation.',
      ),
      setSecret((org, secret) => crewSigningSecrets.set(org, secret)),
    ),
  );

  router.delete(
    '/',
    organisationOnly(),
    crewOperation(
      {
        summary: 'Delete the signing secret for crews',
        scope: 'admin',
        status: 200,
        response: deletedSchema,
        audit: secretDeleted('crews'),
      },
      async (ctx, { respond }) => {
        const deleted = await crewSigningSecrets.remove(ctx.state.principal.org);
        respond({
          deleted,
          message: deleted ? 'Signing secret deleted; callbacks are unsigned.' : 'No signing secret was stored.',
        });
      },
    ),
  );

  return router;
}
