import type { AgentTurn, LanguageModel, ToolCall } from '../../domain/crews/language-model.js';
import { rank, sentencesOf } from './sentences.js';

/** Sentences of an answer, where the task names no number. */
const USUAL_SENTENCES = 5;
/** Of the best sentence's score; what has less is beside the point. */
const WORTH_QUOTING = 0.4;
const MAX_PAGES = 3;
const NOTHING_FOUND = 'Nothing in the material answers this.';

/**
 * No language model but a deterministic stand-in, so that crews run without a key and offline. It uses the tools once,
 * then quotes: of a list of choices in the description the one that fits the inputs best, else the sentences of its
 * material that share most words with the task. It writes no word of its own.
 */
export function createBuiltInModel(): LanguageModel {
  return {
    label: 'built-in (extractive stand-in)',
    async reply(turn) {
      const used = turn.steps.some(({ kind }) => kind === 'tool');
      const tool_calls = used || turn.must_answer ? [] : toolCalls(turn);
      if (tool_calls.length > 0) return { text: '', tool_calls };
      return { text: choice(turn) ?? extract(turn), tool_calls: [] };
    },
  };
}

/** Databases that the description names are asked, pages whose addresses it holds are fetched. */
function toolCalls({ tools, task, inputs }: AgentTurn): ToolCall[] {
  const calls = tools.flatMap(({ name, parameters }): Omit<ToolCall, 'id'>[] => {
    if (name === 'fetch_page') {
      const urls = task.description.match(/https?:\/\/[^\s<>"')\]]*[^\s<>"')\].,;]/g) ?? [];
      return [...new Set(urls)].slice(0, MAX_PAGES).map((url) => ({ tool: name, arguments: { url } }));
    }
    const { database } = parameters.properties as { database: { enum?: string[] } };
    const known = database.enum ?? [];
    const named = known.filter((one) => inputs.includes(one) || task.description.includes(`"${one}"`));
    const asked = named.length > 0 || known.length !== 1 ? named : known;
    // What the inputs ask says more than the task's own words.
    const query = inputs.filter((input) => !known.includes(input)).join(' ') || task.description;
    return asked.map((one) => ({ tool: name, arguments: { database: one, query: query.slice(0, 1_000) } }));
  });
  return calls.map((call, index) => ({ id: `call_${index + 1}`, ...call }));
}

/** Of lines such as `- billing: invoices, charges and refunds`, the name of the one that shares most with the inputs. */
function choice({ task, inputs, rejections }: AgentTurn): string | null {
  const options = [...ownWords(task.description, inputs).matchAll(/^ *[-*] ([^:\n]{1,40}): (.+)$/gm)].map(
    ([, label, text]) => ({ label: label!, text: `${label} ${text}` }),
  );
  if (options.length < 2) return null;
  const scores = rank(
    options.map(({ text }) => text),
    [{ text: inputs.join('\n'), weight: 1 }, ...rejections.map(({ feedback }) => ({ text: feedback, weight: 4 }))],
  );
  // Where nothing fits, the last one: lists end with what is left over.
  const best = Math.max(...scores);
  return options.at(best === 0 ? -1 : scores.indexOf(best))!.label;
}

function extract(turn: AgentTurn): string {
  const { texts, asked } = sources(turn);
  const { description, expected_output } = turn.task;
  const sentences = wholeOnes([...new Set(texts.flatMap(sentencesOf))]);
  const wanted = Number(/\b(\d{1,2}) (?:sentences|points|lines)\b/.exec(expected_output)?.[1] ?? USUAL_SENTENCES);
  const fitting = rank(sentences, [
    { text: ownWords(description, turn.inputs), weight: 1 },
    { text: asked.join('\n'), weight: 3 },
    ...turn.remarks.map(({ text }) => ({ text, weight: 3 })),
  ]);
  const missed = rank(
    sentences,
    turn.rejections.map(({ feedback }) => ({ text: feedback, weight: 6 })),
  );
  const scores = fitting.map((score, index) => score + missed[index]!);
  // Few enough to be quoted whole: an earlier task's output is passed on as it is.
  const fits = sentences.length <= wanted;
  const least = WORTH_QUOTING * Math.max(...fitting);
  const chosen = sentences
    .map((sentence, index) => ({ sentence, index, score: scores[index]! }))
    .filter(({ score }) => fits || (score > 0 && score >= least))
    .sort((a, b) => b.score - a.score || a.index - b.index)
    .slice(0, wanted)
    .sort((a, b) => a.index - b.index)
    .map(({ sentence }) => sentence);
  if (chosen.length === 0) return NOTHING_FOUND;
  const listed = /\b(points|bullets?|list)\b/i.test(expected_output);
  return listed ? chosen.map((sentence) => `- ${sentence}`).join('\n') : chosen.join(' ');
}

/**
 * Where sentences are taken from, and the inputs that say what is wanted. Material is what tools found; else earlier
 * outputs and the input that stands last in the description, but for a single one where there are earlier outputs.
 */
function sources({ steps, context, inputs }: AgentTurn): { texts: string[]; asked: string[] } {
  const found = steps.flatMap((step) => (step.kind === 'tool' && step.ok ? [step.result] : []));
  if (found.length > 0) return { texts: found, asked: inputs };
  const earlier = context.map(({ output }) => output);
  if (inputs.length === 0 || (inputs.length === 1 && earlier.length > 0)) return { texts: earlier, asked: inputs };
  return { texts: [...earlier, inputs.at(-1)!], asked: inputs.slice(0, -1) };
}

/** Without headings and rows of tables, where there is anything else. */
function wholeOnes(sentences: string[]): string[] {
  const whole = sentences.filter((sentence) => /[.!?…]["'”’)]*$/.test(sentence));
  return whole.length > 0 ? whole : sentences;
}

/** A description without the inputs in it. */
function ownWords(description: string, inputs: readonly string[]): string {
  return inputs.reduce((text, input) => text.replaceAll(input, ' '), description);
}
