import { z } from 'zod';
import { ProviderError } from '../../domain/errors.js';
import { type OpenAiClient, RejectedFieldError } from './client.js';

export interface ChatRequest {
  model: string;
  messages: object[];
  tools?: object[];
  tool_choice?: 'none';
  temperature?: number | undefined;
  /** As `temperature`, but a model that does not take it uses its own. */
  preferred_temperature?: number;
  max_tokens?: number | undefined;
  /** The schema of the message; servers may ignore it. */
  response_format?: object;
}

/** Tool calls of a message that are read. A server may send any number; each is an activity. */
const MAX_TOOL_CALLS = 8;

const toolCall = z.object({ id: z.string(), function: z.object({ name: z.string(), arguments: z.string() }) });
const choice = z.object({
  message: z.object({
    content: z.string().nullish(),
    refusal: z.string().nullish(),
    tool_calls: z
      .array(z.unknown())
      .nullish()
      .transform((calls) => calls?.slice(0, MAX_TOOL_CALLS))
      .pipe(z.array(toolCall).optional()),
  }),
  finish_reason: z.string().nullish(),
});

/** The fields that are read. Servers add fields and leave others out. */
const response = z.object({
  choices: z
    .array(z.unknown())
    .transform(([first]) => first)
    .pipe(choice),
  usage: z
    .object({ prompt_tokens: z.int().nonnegative(), completion_tokens: z.int().nonnegative() })
    .nullish()
    .catch(null),
});

export interface ChatCompletion {
  /** May be empty. */
  text: string;
  tool_calls: { id: string; function: { name: string; arguments: string } }[];
  /** `length` when the message was cut off at the model's limit. */
  finish_reason: 'stop' | 'length';
  usage: { input_tokens: number; output_tokens: number } | null;
  /** The parsed response of the server. */
  original: unknown;
}

/**
 * Requests the next message of a conversation.
 * @throws ProviderError, also when the model declines
 */
export async function complete(
  client: OpenAiClient,
  request: ChatRequest,
  signal: AbortSignal,
): Promise<ChatCompletion> {
  const original = await post(client, request, signal);
  const parsed = response.safeParse(original);
  if (!parsed.success) throw new ProviderError('The response of the AI server holds no message.', true);
  const { message, finish_reason } = parsed.data.choices;
  if (message.refusal || finish_reason === 'content_filter')
    throw new ProviderError('The model declined the request.', false);
  const { usage } = parsed.data;
  return {
    text: message.content?.trim() ?? '',
    tool_calls: message.tool_calls ?? [],
    finish_reason: finish_reason === 'length' ? 'length' : 'stop',
    usage: usage ? { input_tokens: usage.prompt_tokens, output_tokens: usage.completion_tokens } : null,
    original,
  };
}

/** Newer models reject `max_tokens`, and many servers do not know the field that replaced it. They also have one temperature. */
async function post(
  client: OpenAiClient,
  { preferred_temperature, ...request }: ChatRequest,
  signal: AbortSignal,
): Promise<unknown> {
  const preferred = preferred_temperature === undefined ? {} : { temperature: preferred_temperature };
  const send = (body: Record<string, unknown>): Promise<unknown> =>
    client.post('/chat/completions', body, signal).catch((error: unknown) => {
      const accepted = error instanceof RejectedFieldError ? without(error.field, body) : undefined;
      if (!accepted) throw error;
      return send(accepted);
    });
  return send({ ...preferred, ...request });

  function without(field: string, body: Record<string, unknown>): Record<string, unknown> | undefined {
    const { [field]: value, ...rest } = body;
    if (value === undefined) return undefined;
    if (field === 'max_tokens') return { ...rest, max_completion_tokens: value };
    // The temperature of a job is its client's wish, which is not ignored.
    return field === 'temperature' && request.temperature === undefined ? rest : undefined;
  }
}

/** As `complete`. @throws ProviderError also when the message is empty */
export async function completeText(...args: Parameters<typeof complete>): Promise<ChatCompletion> {
  const completion = await complete(...args);
  requireText(completion);
  return completion;
}

/** As `completeText`. @throws ProviderError also when the message was cut off */
export async function completeWhole(...args: Parameters<typeof complete>): Promise<ChatCompletion> {
  const completion = await completeText(...args);
  if (completion.finish_reason === 'length')
    throw new ProviderError("The input is too long: the output was cut off at the model's limit.", false);
  return completion;
}

/** @throws ProviderError when the message is empty */
export function requireText({ text }: ChatCompletion): void {
  if (text === '') throw new ProviderError('The model returned an empty message.', true);
}
