import Router from '@koa/router';
import { z } from 'zod';
import { AI_FEATURES } from '../../domain/ai-jobs/features.js';
import type { AiProvider } from '../../domain/ai-jobs/provider.js';
import { ServiceError } from '../../domain/errors.js';
import type { Dependencies } from '../dependencies.js';
import type { RequestState } from '../request-context.js';
import { aiJobOperation } from './document.js';
import { inputSchemaOf } from './request-schema.js';
import { modelsSchema } from './responses.js';

export type AvailableProvider = Pick<AiProvider, 'subfeature' | 'name' | 'models' | 'quick' | 'metered'>;

/** The available models, and the keys that verify callbacks. */
export function catalogueRoutes({ catalogue, signingKeys, limits }: Dependencies): Router<RequestState> {
  const router = new Router<RequestState>({ prefix: '/v3/ai' });

  router.get(
    '/models',
    aiJobOperation({ summary: 'List models', response: modelsSchema }, (_ctx, { respond }) => {
      const max_file_bytes = Math.min(limits.maxFileBytes, limits.maxRequestBytes);
      respond({ max_file_bytes, models: catalogue.list().map(describeModel) });
    }),
  );

  router.get(
    '/webhook-public-key',
    aiJobOperation(
      {
        summary: 'Get the public keys for callbacks',
        description:
          "PEM blocks of your organisation's keys, the current key first. An old key is listed for at least a day, and until the callbacks of its jobs have been sent.",
        query: z.object({
          key_id: z
            .string()
            .max(100)
            .optional()
            .meta({ description: 'Only the key with this id, which callbacks name as `X-Service-Key-Id`.' }),
        }),
        response: z.string(),
        type: 'application/x-pem-file',
        errors: ['NOT_FOUND'],
      },
      async (_ctx, { org, query: { key_id }, respond }) => {
        if (key_id === undefined) return respond((await signingKeys.listPublicKeys(org)).join(''));
        const key = await signingKeys.findPublicKey(org, key_id);
        if (key === null) throw new ServiceError('NOT_FOUND', `There is no key "${key_id}".`);
        respond(key);
      },
    ),
  );

  return router;
}

function describeModel(available: AvailableProvider) {
  const { subfeature: name, name: provider, models: provider_models } = available;
  const [feature, subfeature] = name.split('/') as [string, string];
  const { summary, takes } = AI_FEATURES[name];
  const model = `${name}/${provider}`;
  return { model, feature, subfeature, provider, summary, takes, input: inputSchemaOf(available), provider_models };
}
