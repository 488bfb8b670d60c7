import { setTimeout as wait } from 'node:timers/promises';
import { call } from '../support/api-client.js';
import { ingest } from '../support/work.js';
import type { HostileCase, Target } from './case.js';
import { JSON_TYPE, send, summarise } from './send.js';

/** Queries of a case that are sent at the same time. */
const TOGETHER = 20;

/** The costliest query of a text: all its hits, with their neighbours and the words that match. */
interface Answer {
  what: string;
  /** The text of the item that is asked for. */
  text: () => string;
  query: () => string;
  fields?: object;
}

const ANSWERS: readonly Answer[] = [
  { what: 'a match in every word', text: () => 'a1 '.repeat(60_000), query: () => 'a1 '.repeat(3_000) },
  {
    what: '3,000 words that match one each',
    text: () => Array.from({ length: 30_000 }, (_, n) => `w${n % 3_000}`).join(' '),
    query: () => Array.from({ length: 1_900 }, (_, n) => `w${n}`).join(' '),
  },
  { what: 'Chinese without spaces', text: () => '図書館の港'.repeat(12_000), query: () => '図書館の港'.repeat(1_900) },
  { what: 'emoji of many parts', text: () => 'lamp 👩‍👩‍👧‍👦'.repeat(8_000), query: () => 'lamp 👩‍👩‍👧‍👦'.repeat(600) },
  { what: 'a long run of full stops', text: () => `lamp ${'.'.repeat(400_000)} lamp`, query: () => 'lamp' },
  { what: 'a run of combining marks', text: () => `lamp ${'e\u0301\u0302'.repeat(60_000)}`, query: () => 'lamp' },
  {
    what: 'a budget of 50 tokens',
    text: () => 'The lamp flashes. '.repeat(20_000),
    query: () => 'lamp flashes '.repeat(700),
    fields: { max_tokens: 50 },
  },
  {
    what: 'a budget that no sentence fits',
    text: () => 'lamp, flashes, '.repeat(20_000),
    query: () => 'lamp flashes '.repeat(700),
    fields: { max_tokens: 5_000 },
  },
];

/** Queries whose responses are expensive to put together. */
const answerCases = ANSWERS.map(({ what, text, query, fields }, n): HostileCase => {
  return {
    name: `answer: ${what}`,
    async prepare(target) {
      const id = `answer-${n}`;
      await ingest(target, target.database, 'memories', [{ id, text: text() }]);
      await indexed(target, id);
      const body = {
        database: target.database,
        ids: [id],
        query: query().slice(0, 10_000),
        max_results: 50,
        expand: 2,
        explain: true,
        ...fields,
      };
      const ask = () => send(target, 'POST', '/query', JSON.stringify(body), JSON_TYPE);
      return async () => {
        const outcome = summarise(await Promise.all(Array.from({ length: TOGETHER }, ask)));
        const deleted = JSON.stringify({ database: target.database, ids: [id] });
        await send(target, 'DELETE', '/context', deleted, JSON_TYPE);
        return outcome;
      };
    },
  };
});

async function indexed({ database, ...access }: Target, id: string): Promise<void> {
  for (;;) {
    const { statuses } = await call(access, 'GET', `/context/status?database=${database}&ids=${id}`);
    if (/completed|errored/.test(statuses[0].indexing_status)) return;
    await wait(300);
  }
}

/** A case that sends texts as a JSON body. */
const texts = (what: string, fields: () => string): HostileCase => ({
  name: `texts: ${what}`,
  prepare(target) {
    const body = `{"database":"${target.database}",${fields()}}`;
    return () => send(target, 'POST', '/context/ingest', body, JSON_TYPE);
  },
});
const list = (count: number, element: (n: number) => string) =>
  Array.from({ length: count }, (_, n) => element(n)).join(',');

/** Queries with expensive answers, and texts as JSON bodies. */
export const ANSWER_CASES: readonly HostileCase[] = [
  ...answerCases,
  texts('300,000 empty memories', () => `"memories":[${list(300_000, () => '{}')}]`),
  texts('4,999 memories, and one without a text', () => `"memories":[${list(4_999, () => '{"text":"x"}')},{}]`),
  texts('an id 5,000 times', () => `"memories":[${list(5_000, () => '{"id":"same","text":"x"}')}]`),
  texts(
    'conversations with 25,000 values',
    () => `"memories":[{"user_assistant_pairs":[${list(12_500, (n) => `{"user":"${n}","assistant":""}`)}]}]`,
  ),
  texts(
    'metadata of __proto__',
    () => `"memories":[{"text":"","metadata":${'{"__proto__":'.repeat(90)}1${'}'.repeat(91)}]`,
  ),
  texts('500,000 opening brackets', () => `"app_knowledge":${'['.repeat(500_000)}`),
  texts('30 MB', () => `"memories":[{"text":"${'x'.repeat(30_000_000)}"}]`),
  texts('both names of a field, 40,000 times', () => list(40_000, () => '"tenant_id":"x","memories":[]')),
];
