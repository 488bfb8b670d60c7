import Router from '@koa/router';
import { z } from 'zod';
import { AI_FEATURES } from '../../domain/ai-jobs/features.js';
import type { AiProvider } from '../../domain/ai-jobs/provider.js';
import type { SigningKeys } from '../../storage/ai-jobs/signing-keys.js';
import type { RequestState } from '../request-context.js';
import { aiJobOperation } from './document.js';
import { modelsSchema } from './responses.js';

type OfferedProvider = Pick<AiProvider, 'subfeature' | 'name' | 'models'>;

/** What can be asked for, and of whom; the providers themselves run elsewhere. */
export interface AiCatalogue {
  list(): OfferedProvider[];
  find(subfeature: string, name: string): OfferedProvider | undefined;
}

export interface CatalogueDependencies {
  catalogue: AiCatalogue;
  signingKeys: SigningKeys;
}

/** What can be asked for, and the key that callbacks are verified with. */
export function catalogueRoutes({ catalogue, signingKeys }: CatalogueDependencies): Router<RequestState> {
  const router = new Router<RequestState>({ prefix: '/v3/ai' });

  router.get(
    '/models',
    aiJobOperation({ summary: 'What can be asked for', status: 200, response: modelsSchema }, (_ctx, { respond }) =>
      respond({ models: catalogue.list().map(described) }),
    ),
  );

  // PEM blocks, the current key first: a reader of one key takes the first.
  router.get(
    '/webhook-public-key',
    aiJobOperation(
      {
        summary: 'The keys that callbacks are verified with',
        description: 'PEM, the current key first; an old one stays until the last job signed with it is done.',
        status: 200,
        response: z.string(),
        type: 'application/x-pem-file',
      },
      async (_ctx, { respond }) => respond((await signingKeys.listPublicKeys()).join('')),
    ),
  );

  return router;
}

function described({ subfeature: name, name: provider, models }: OfferedProvider) {
  const [feature, subfeature] = name.split('/') as [string, string];
  const { summary, takes } = AI_FEATURES[name];
  return { model: `${name}/${provider}`, feature, subfeature, provider, summary, takes, provider_models: models };
}
