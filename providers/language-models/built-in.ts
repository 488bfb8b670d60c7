import type { AgentTurn, LanguageModel, ToolCall } from '../../domain/crews/language-model.js';
import { ProviderError } from '../../domain/errors.js';

/** Sentences of an output when the task states no number. */
const DEFAULT_SENTENCES = 5;
/** Share of the best sentence's score that a sentence needs to be quoted. */
const MIN_RELATIVE_SCORE = 0.4;
const MAX_PAGES = 3;
const NOTHING_FOUND = 'Nothing in the material answers this.';

/**
 * A deterministic stand-in for a language model, so that crews run offline and without a key. It uses the tools once and
 * then quotes: from a list of options in the description the one that matches the inputs best, else the sentences of its
 * material that share most words with the task. It writes no words of its own.
 */
export function createBuiltInModel(): LanguageModel {
  return {
    label: 'built-in (extractive stand-in)',
    metered: false,
    async reply(turn) {
      const used = turn.steps.some(({ kind }) => kind === 'tool');
      const tool_calls = used || turn.must_finish ? [] : toolCalls(turn);
      if (tool_calls.length > 0) return { text: '', tool_calls };
      const text = chooseOption(turn) ?? quoteSentences(turn);
      const { schema } = turn.task;
      if (schema === undefined) return { text, tool_calls: [] };
      const filled = JSON.stringify(fillSchema(JSON.parse(schema), text));
      // Each attempt gives the same.
      if (filled === undefined) throw new ProviderError('The built-in model finds no value for output_json.', false);
      return { text: filled, tool_calls: [] };
    },
  };
}

/** Puts a quoted text into the form of a JSON schema. Values that it does not hold are left out. */
function fillSchema(schema: Record<string, unknown>, text: string): unknown {
  const within = (value: unknown) => fillSchema(value as Record<string, unknown>, text);
  if (Array.isArray(schema.enum)) return schema.enum.find((value) => text.includes(String(value)));
  if (schema.type === 'object') {
    const fields = Object.entries((schema.properties ?? {}) as Record<string, unknown>);
    return Object.fromEntries(fields.map(([name, value]) => [name, within(value)]));
  }
  if (schema.type === 'array') {
    const items = (schema.items ?? { type: 'string' }) as Record<string, unknown>;
    return items.type === 'string' ? sentencesOf(text) : [within(items)];
  }
  if (schema.type === 'string') return text;
  if (schema.type !== 'number' && schema.type !== 'integer') return undefined;
  const number = /-?\d+(?:\.\d+)?/.exec(text);
  return number === null ? undefined : Number(number[0]);
}

/** Queries the databases that the description names, and fetches the pages whose URLs it holds. */
function toolCalls({ tools, task, inputs }: AgentTurn): ToolCall[] {
  const calls = tools.flatMap(({ name, parameters }): Omit<ToolCall, 'id'>[] => {
    if (name === 'fetch_page') {
      const urls = task.description.match(/https?:\/\/[^\s<>"')\]]*[^\s<>"')\].,;]/g) ?? [];
      return [...new Set(urls)].slice(0, MAX_PAGES).map((url) => ({ tool: name, arguments: { url } }));
    }
    if (name !== 'query_database') return [];
    const { database } = parameters.properties as { database: { enum?: string[] } };
    const known = database.enum ?? [];
    const named = known.filter((name) => inputs.includes(name) || task.description.includes(`"${name}"`));
    const databases = named.length > 0 || known.length !== 1 ? named : known;
    // The inputs are a better query than the task's own words.
    const query = inputs.filter((input) => !known.includes(input)).join(' ') || task.description;
    return databases.map((database) => ({ tool: name, arguments: { database, query: query.slice(0, 1_000) } }));
  });
  return calls.map((call, index) => ({ id: `call_${index + 1}`, ...call }));
}

/** From lines such as `- billing: invoices, charges and refunds`, the name of the line that shares most words with the inputs. */
function chooseOption({ task, inputs, rejections }: AgentTurn): string | null {
  const options = [...task.own_words.matchAll(/^ *[-*] ([^:\n]{1,40}): (.+)$/gm)].map(([, label, text]) => ({
    label: label!,
    text: `${label} ${text}`,
  }));
  if (options.length < 2) return null;
  const scores = rank(
    options.map(({ text }) => text),
    [{ text: inputs.join('\n'), weight: 1 }, ...rejections.map(({ feedback }) => ({ text: feedback, weight: 4 }))],
  );
  // Without any match, the last option: lists usually end with a catch-all.
  const best = Math.max(...scores);
  return options.at(best === 0 ? -1 : scores.indexOf(best))!.label;
}

function quoteSentences(turn: AgentTurn): string {
  const { texts, questions } = sources(turn);
  const { own_words, expected_output } = turn.task;
  const sentences = wholeSentences([...new Set(texts.flatMap(sentencesOf))]);
  const count = Number(/\b(\d{1,2}) (?:sentences|points|lines)\b/.exec(expected_output)?.[1] ?? DEFAULT_SENTENCES);
  const relevance = rank(sentences, [
    { text: own_words, weight: 1 },
    { text: questions.join('\n'), weight: 3 },
    ...turn.remarks.map(({ text }) => ({ text, weight: 3 })),
  ]);
  const correction = rank(
    sentences,
    turn.rejections.map(({ feedback }) => ({ text: feedback, weight: 6 })),
  );
  const scores = relevance.map((score, index) => score + correction[index]!);
  // All sentences are quoted when they are few, so that the output of an earlier task is passed on unchanged.
  const quoteAll = sentences.length <= count;
  const minScore = MIN_RELATIVE_SCORE * Math.max(...relevance);
  // A text alone, such as the one to summarize in a task of other words, is quoted from its beginning.
  const quoteBeginning = questions.length === 0 && scores.every((score) => score === 0);
  const chosen = sentences
    .map((sentence, index) => ({ sentence, index, score: scores[index]! }))
    .filter(({ score }) => quoteAll || quoteBeginning || (score > 0 && score >= minScore))
    .sort((a, b) => b.score - a.score || a.index - b.index)
    .slice(0, count)
    .sort((a, b) => a.index - b.index)
    .map(({ sentence }) => sentence);
  if (chosen.length === 0) return NOTHING_FOUND;
  const asList = /\b(points|bullets?|list)\b/i.test(expected_output);
  return asList ? chosen.map((sentence) => `- ${sentence}`).join('\n') : chosen.join(' ');
}

/**
 * The material to quote, and the inputs that state the request. The material is the results of the tools. Without tools it is
 * the earlier outputs and the last input of the description that has sentences, except for a single input when there are earlier
 * outputs.
 */
function sources({ steps, context, inputs }: AgentTurn): { texts: string[]; questions: string[] } {
  const found = steps.flatMap((step) => (step.kind === 'tool' && step.ok ? [step.result] : []));
  if (found.length > 0) return { texts: found, questions: inputs };
  const earlier = context.map(({ output }) => output).filter((output) => !output.endsWith(NOTHING_FOUND));
  const material = inputs.findLastIndex((input) => sentencesOf(input).length > 0);
  const enough = inputs.length === 1 && earlier.some((output) => sentencesOf(output).length > 0);
  if (material < 0 || enough) return { texts: earlier, questions: inputs };
  return { texts: [...earlier, inputs[material]!], questions: inputs.filter((_, index) => index !== material) };
}

/** The sentences without headings and table rows, if any remain. */
function wholeSentences(sentences: string[]): string[] {
  const whole = sentences.filter((sentence) => /[.!?…]["'”’)]*$/.test(sentence));
  return whole.length > 0 ? whole : sentences;
}

const sentenceSegmenter = new Intl.Segmenter('en', { granularity: 'sentence' });
const wordSegmenter = new Intl.Segmenter('en', { granularity: 'word' });

/** Words without meaning for the topic of a sentence. */
const COMMON = new Set(
  (
    'a about after all also an and any are as at be been but by can could did do does for from get give given had has have ' +
    'how i if in into is it its may more must my no not of on one only or our out shall she should so some than that the ' +
    'their them then there these they this to under up was we were what when where which who will with would you your'
  ).split(' '),
);
/** Shorter sentences are headings, greetings and labels. */
const MIN_WORDS = 4;
/** Letters that the inflected forms of most words share. */
const STEM = 6;
const stem = (word: string) => (word.length > 3 ? word.replace(/(?<!s)s$/, '') : word).slice(0, STEM);

/** Splits a text into sentences. Wrapped lines are joined; list marks and numbered headers of sources are removed. */
function sentencesOf(text: string): string[] {
  return text
    .replace(/\n(?=\p{Ll})/gu, ' ')
    .split(/\n+/)
    .map((line) => line.replace(/^\s*(?:[-*•]|\d+[.)])\s+/, '').trim())
    .filter((line) => !/^\[\d+\] /.test(line))
    .flatMap((line) => [...sentenceSegmenter.segment(line)].map(({ segment }) => segment.trim()))
    .filter((sentence) => wordsOf(sentence).length >= MIN_WORDS);
}

/** Scores each sentence by the words it shares with the questions. Rare words count more, long sentences a little less. */
function rank(sentences: readonly string[], questions: readonly { text: string; weight: number }[]): number[] {
  const weights = new Map<string, number>();
  for (const { text, weight } of questions) {
    for (const word of stemsOf(text)) weights.set(word, Math.max(weight, weights.get(word) ?? 0));
  }
  if (weights.size === 0) return sentences.map(() => 0);
  const stems = sentences.map(stemsOf);
  // Counted in one pass: clients choose how many words and how many sentences there are.
  const frequencies = new Map<string, number>();
  for (const own of stems) for (const word of own) frequencies.set(word, (frequencies.get(word) ?? 0) + 1);
  const scores = new Map([...weights].map(([word, weight]) => [word, weight / (1 + (frequencies.get(word) ?? 0))]));
  return stems.map((own) => {
    const shared = [...own].reduce((sum, word) => sum + (scores.get(word) ?? 0), 0);
    return shared / Math.log2(own.size + 3);
  });
}

function stemsOf(text: string): Set<string> {
  return new Set(wordsOf(text).flatMap((word) => (word.length < 3 || COMMON.has(word) ? [] : [stem(word)])));
}

function wordsOf(text: string): string[] {
  return [...wordSegmenter.segment(text.toLowerCase())].flatMap(({ segment, isWordLike }) =>
    isWordLike ? [segment] : [],
  );
}
