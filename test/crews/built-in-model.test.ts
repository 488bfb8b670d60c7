import { describe, expect, test } from '@jest/globals';
import type { AgentTurn } from '../../domain/crews/language-model.js';
import { createBuiltInModel } from '../../providers/language-models/built-in.js';

const SENTENCES = [
  'The ferry leaves the harbour at seven.',
  'Bicycles travel on the lower deck.',
  'The crossing takes forty minutes in calm weather.',
  'Children pay half of the fare.',
  'Dogs wear a lead on board.',
  'The last boat returns at midnight.',
];
const NOTHING = 'Nothing in the material answers this.';

describe('the built-in model', () => {
  async function output(turn: Partial<AgentTurn>, expected_output = ''): Promise<string> {
    const model = createBuiltInModel();
    const description = (turn.inputs ?? []).join(' ');
    const reply = await model.reply(
      {
        agent: { role: 'R', goal: 'G', backstory: 'B' },
        task: { description, own_words: 'Summarize', expected_output },
        inputs: [],
        context: [],
        remarks: [],
        rejections: [],
        steps: [],
        tools: [],
        must_finish: false,
        ...turn,
      },
      new AbortController().signal,
      undefined as never,
    );
    return reply.text;
  }

  test('quotes the beginning of a text that shares no words with its task', async () => {
    const text = SENTENCES.join('\n');
    expect(await output({ inputs: [text] }, '2 sentences')).toBe(SENTENCES.slice(0, 2).join(' '));
    expect(await output({ inputs: ['How high is the mountain?', text] })).toBe(NOTHING);
  });

  test('takes its material from the last input that has sentences', async () => {
    const text = SENTENCES.join('\n');
    expect(await output({ inputs: [text, 'bicycles', '2030'] })).toBe(SENTENCES[1]);
  });

  test('takes its material from a single input when no earlier output has sentences', async () => {
    const [first] = SENTENCES;
    const earlier = (text: string) => [{ task: 'earlier', output: text }];
    expect(await output({ inputs: [first!], context: earlier('transport') })).toBe(first);
    expect(await output({ inputs: [first!], context: earlier(`- ${NOTHING}`) })).toBe(first);
    expect(await output({ inputs: [first!], context: earlier(SENTENCES[3]!) })).toBe(SENTENCES[3]);
  });
});
