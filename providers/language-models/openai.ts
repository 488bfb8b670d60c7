import { z } from 'zod';
import type { AgentTurn, LanguageModel, ToolCall } from '../../domain/crews/language-model.js';
import { ProviderError } from '../../domain/errors.js';
import type { OpenAiClient } from '../ai-jobs/openai/client.js';
import { type Message, messagesOf } from './messages.js';

/** A server may ask for many at once; each is an activity. */
const MAX_TOOL_CALLS = 8;

/** What is read of an answer; servers add fields and leave out others. */
const answer = z.object({
  choices: z
    .array(
      z.object({
        message: z.object({
          content: z.string().nullish(),
          refusal: z.string().nullish(),
          tool_calls: z
            .array(z.object({ id: z.string(), function: z.object({ name: z.string(), arguments: z.string() }) }))
            .nullish(),
        }),
        finish_reason: z.string().nullish(),
      }),
    )
    .min(1),
});

/** A model behind any server that speaks OpenAI's protocol, with tool calls. */
export function createOpenAiModel(client: OpenAiClient, model: string): LanguageModel {
  return {
    label: `${model} (OpenAI-compatible)`,
    async reply(turn, signal) {
      const request = { model, messages: messagesOf(turn) satisfies Message[], ...toolsOf(turn) };
      const parsed = answer.safeParse(await client.post('/chat/completions', request, signal));
      if (!parsed.success) throw new ProviderError('The AI server answered no message.', true);
      const { message, finish_reason } = parsed.data.choices[0]!;
      if (message.refusal || finish_reason === 'content_filter') {
        throw new ProviderError('The model refuses to work on this task.', false);
      }
      const text = message.content?.trim() ?? '';
      const tool_calls = turn.must_answer ? [] : (message.tool_calls ?? []).slice(0, MAX_TOOL_CALLS).map(readCall);
      if (tool_calls.length > 0) return { text, tool_calls };
      if (finish_reason === 'length') throw new ProviderError("The answer was cut off at the model's limit.", false);
      if (text === '') throw new ProviderError('The model answered nothing.', true);
      return { text, tool_calls };
    },
  };
}

function toolsOf({ tools, must_answer }: AgentTurn) {
  if (tools.length === 0) return {};
  const offered = tools.map(({ name, description, parameters }) => {
    return { type: 'function', function: { name, description, parameters } };
  });
  // They stay listed, because some servers refuse a conversation with calls of tools that are not.
  return { tools: offered, ...(must_answer ? { tool_choice: 'none' } : {}) };
}

/** Arguments that are no JSON object become none: the tool then says what it needs, and the model may try again. */
function readCall({ id, function: called }: { id: string; function: { name: string; arguments: string } }): ToolCall {
  let parsed: unknown;
  try {
    parsed = JSON.parse(called.arguments);
  } catch {
    parsed = undefined;
  }
  const named = z.record(z.string(), z.unknown()).safeParse(parsed);
  return { id, tool: called.name, arguments: named.success ? named.data : {} };
}
