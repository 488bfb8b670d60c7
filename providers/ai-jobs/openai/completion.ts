import { z } from 'zod';
import { ProviderError } from '../../../domain/errors.js';
import type { OpenAiClient } from './client.js';

export interface ChatMessage {
  role: 'system' | 'user' | 'assistant';
  content: string | ({ type: 'text'; text: string } | { type: 'image_url'; image_url: { url: string } })[];
}

/** What is read of an answer; servers add fields and leave out others. */
const answer = z.object({
  choices: z
    .array(
      z.object({
        message: z.object({ content: z.string().nullish(), refusal: z.string().nullish() }),
        finish_reason: z.string().nullish(),
      }),
    )
    .min(1),
  usage: z
    .object({ prompt_tokens: z.int().nonnegative(), completion_tokens: z.int().nonnegative() })
    .nullish()
    .catch(null),
});

export interface Completion {
  text: string;
  finish_reason: 'stop' | 'length';
  usage: { input_tokens: number; output_tokens: number } | null;
  /** The parsed answer of the server. */
  original: unknown;
}

/**
 * Asks for the next message of a conversation.
 * @throws ProviderError, also when the model refuses or says nothing
 */
export async function complete(
  client: OpenAiClient,
  request: { model: string; messages: ChatMessage[]; temperature?: number; max_tokens?: number },
  signal: AbortSignal,
): Promise<Completion> {
  const original = await client.post('/chat/completions', request, signal);
  const parsed = answer.safeParse(original);
  if (!parsed.success) throw new ProviderError('The AI server answered no message.', true);
  const { message, finish_reason } = parsed.data.choices[0]!;
  if (message.refusal || finish_reason === 'content_filter')
    throw new ProviderError('The model refuses to answer this.', false);
  const text = message.content?.trim() ?? '';
  if (text === '') throw new ProviderError('The model answered nothing.', true);
  const { usage } = parsed.data;
  return {
    text,
    finish_reason: finish_reason === 'length' ? 'length' : 'stop',
    usage: usage ? { input_tokens: usage.prompt_tokens, output_tokens: usage.completion_tokens } : null,
    original,
  };
}

/** As `complete`, where half an answer is none. @throws ProviderError also when the answer was cut off */
export async function completeWhole(...args: Parameters<typeof complete>): Promise<Completion> {
  const completion = await complete(...args);
  if (completion.finish_reason === 'length')
    throw new ProviderError("The input is too long: the answer was cut off at the model's limit.", false);
  return completion;
}
