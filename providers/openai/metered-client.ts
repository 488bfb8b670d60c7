import { z } from 'zod';
import type { TokenMeter } from '../../domain/token-meter.js';
import type { OpenAiClient } from './client.js';

const tokens = z.int().nonnegative();

/** The names of token counts differ between the routes of OpenAI's API, and servers may leave them out. */
const response = z.object({
  usage: z.union([
    z.object({ total_tokens: tokens }).transform(({ total_tokens }) => total_tokens),
    z.object({ prompt_tokens: tokens, completion_tokens: tokens }).transform((used) => {
      return used.prompt_tokens + used.completion_tokens;
    }),
    z.object({ input_tokens: tokens, output_tokens: tokens }).transform((used) => {
      return used.input_tokens + used.output_tokens;
    }),
  ]),
});

/**
 * A client whose calls count against the token quota of an organisation. A call that has started is finished, so calls
 * at the same time can exceed the quota by what they use.
 * @param meter absent when nothing is counted
 */
export function meteredClient(client: OpenAiClient, meter: TokenMeter | undefined): OpenAiClient {
  if (!meter) return client;
  return {
    async post(...request) {
      await meter.admit();
      const result = await client.post(...request);
      const { data } = response.safeParse(result);
      // A response that is rejected later has used its tokens too.
      if (data && data.usage > 0) await meter.count(data.usage);
      return result;
    },
  };
}
