import { complete } from './completion.js';
import type { Ask } from './provider.js';

/** Passes a conversation on and gives its next message. */
export const chat: Ask<'text/chat'> = async ({ messages, temperature, max_tokens }, { client, model, signal }) => {
  const { original, ...output } = await complete(client, { model, messages, temperature, max_tokens }, signal);
  return { output, original };
};
