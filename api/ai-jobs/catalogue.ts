import Router from '@koa/router';
import { AI_FEATURES } from '../../domain/ai-features.js';
import type { AiProvider } from '../../domain/ai-provider.js';
import type { SigningKeys } from '../../storage/signing-keys.js';
import type { RequestState } from '../context.js';

type Offer = Pick<AiProvider, 'subfeature' | 'name' | 'models'>;

/** What can be asked for, and of whom; the providers themselves run elsewhere. */
export interface AiCatalogue {
  list(): Offer[];
  find(subfeature: string, name: string): Offer | undefined;
}

export interface CatalogueDependencies {
  catalogue: AiCatalogue;
  signingKeys: SigningKeys;
}

/** What can be asked for, and the key that callbacks are verified with. */
export function catalogueRoutes({ catalogue, signingKeys }: CatalogueDependencies): Router<RequestState> {
  const router = new Router<RequestState>({ prefix: '/v3/ai' });

  router.get('/models', (ctx) => {
    ctx.body = { models: catalogue.list().map(described) };
  });

  // PEM blocks, the current key first: a reader of one key takes the first.
  router.get('/webhook-public-key', async (ctx) => {
    ctx.type = 'application/x-pem-file';
    ctx.body = (await signingKeys.readable()).join('');
  });

  return router;
}

function described({ subfeature: name, name: provider, models }: Offer) {
  const [feature, subfeature] = name.split('/');
  const { summary, takes } = AI_FEATURES[name];
  return { model: `${name}/${provider}`, feature, subfeature, provider, summary, takes, provider_models: models };
}
