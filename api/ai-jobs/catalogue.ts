import Router from '@koa/router';
import { z } from 'zod';
import { AI_FEATURES } from '../../domain/ai-jobs/features.js';
import type { AiProvider } from '../../domain/ai-jobs/provider.js';
import type { SigningKeys } from '../../storage/ai-jobs/signing-keys.js';
import type { RequestState } from '../request-context.js';
import { aiJobOperation } from './document.js';
import { modelsSchema } from './responses.js';

export type AvailableProvider = Pick<AiProvider, 'subfeature' | 'name' | 'models' | 'quick' | 'metered'>;

/** The available subfeatures and their providers, which run in the workers. */
export interface AiCatalogue {
  list(): AvailableProvider[];
  find(subfeature: string, name: string): AvailableProvider | undefined;
}

export interface CatalogueDependencies {
  catalogue: AiCatalogue;
  signingKeys: SigningKeys;
}

/** The available models, and the keys that verify callbacks. */
export function catalogueRoutes({ catalogue, signingKeys }: CatalogueDependencies): Router<RequestState> {
  const router = new Router<RequestState>({ prefix: '/v3/ai' });

  router.get(
    '/models',
    aiJobOperation({ summary: 'List models', status: 200, response: modelsSchema }, (_ctx, { respond }) =>
      respond({ models: catalogue.list().map(describeModel) }),
    ),
  );

  router.get(
    '/webhook-public-key',
    aiJobOperation(
      {
        summary: 'Get the public keys for callbacks',
        description:
          "PEM blocks of your organisation's keys, the current key first. An old key is listed for at least a day, and until the callbacks of its jobs have been sent.",
        status: 200,
        response: z.string(),
        type: 'application/x-pem-file',
      },
      async (ctx, { respond }) => respond((await signingKeys.listPublicKeys(ctx.state.principal.org)).join('')),
    ),
  );

  return router;
}

function describeModel({ subfeature: name, name: provider, models }: AvailableProvider) {
  const [feature, subfeature] = name.split('/') as [string, string];
  const { summary, takes } = AI_FEATURES[name];
  return { model: `${name}/${provider}`, feature, subfeature, provider, summary, takes, provider_models: models };
}
