import type { ItemEntity } from 'wink-nlp';
import type { FeatureOutput } from '../../../domain/ai-jobs/features.js';
import { buildGraph } from '../../graph/build-graph.js';
import { classifyName } from '../../graph/classify-name.js';
import type { Analyse } from './analyses.js';
import { occurrences, type Span } from './occurrences.js';
import { reader, withoutLongTokens } from './reader.js';

type Entity = FeatureOutput<'text/named_entity_recognition'>['entities'][number];
const { its } = reader;

/** What the library calls the kinds of entities that have a form of their own. */
const FORMS: Record<string, Entity['type']> = {
  DATE: 'date',
  TIME: 'time',
  DURATION: 'time',
  MONEY: 'money',
  PERCENT: 'percent',
  EMAIL: 'email',
  URL: 'url',
};

/** Names as the knowledge graph finds them, and dates, sums, addresses and the like by their form, with all their places. */
export const analyse: Analyse<'text/named_entity_recognition'> = ({ text }) => {
  const found = [...formed(text), ...named(text)];
  // The longest wins where two lie over each other: "3 March 2021" over "2021".
  const spans = found
    .flatMap((entity) => entity.mentions.map((mention) => ({ entity, mention })))
    .sort((a, b) => length(b.mention) - length(a.mention));
  const taken = new Uint8Array(text.length);
  const kept = new Map<Entity, Span[]>();
  for (const { entity, mention } of spans) {
    if (taken.subarray(mention.start, mention.end).includes(1)) continue;
    taken.fill(1, mention.start, mention.end);
    kept.set(entity, [...(kept.get(entity) ?? []), mention]);
  }
  const entities = [...kept].map(([entity, mentions]) => ({
    ...entity,
    mentions: mentions.sort((a, b) => a.start - b.start),
  }));
  return { entities: entities.sort((a, b) => a.mentions[0]!.start - b.mentions[0]!.start) };
};

const length = ({ start, end }: Span) => end - start;

function formed(text: string): Entity[] {
  const types = new Map<string, Entity['type']>();
  const readable = withoutLongTokens(text);
  for (const [url] of text.matchAll(/https?:\/\/[^\s<>"')\]]*[\w/]/g)) types.set(url, 'url');
  for (const [email] of readable.matchAll(/[\w.+-]+@[\w-]+(\.[\w-]+)+/g)) types.set(email, 'email');
  reader
    .readDoc(readable)
    .entities()
    .each((entity: ItemEntity) => {
      const type = FORMS[entity.out(its.type) as string];
      // "Today" and "later" are no dates to put into a calendar.
      if (type && /\d/.test(entity.out())) types.set(entity.out().replace(/[.,]$/, ''), type);
    });
  return [...types].map(([name, type]) => ({ text: name, type, mentions: verbatim(text, name) }));
}

/** Unlike names, these may begin and end with signs ("$40", "12%"). */
function verbatim(text: string, name: string): Span[] {
  const spans: Span[] = [];
  for (let start = text.indexOf(name); start !== -1; start = text.indexOf(name, start + name.length))
    spans.push({ start, end: start + name.length });
  return spans;
}

function named(text: string): Entity[] {
  const { entities } = buildGraph([{ chunk_id: 'text', text }]);
  const result = new Map<string, Entity>();
  for (const { name, type } of entities) {
    if (type === 'date' || type === 'concept') continue;
    const full = withSurname(text, name);
    const fullType = full === name ? type : classifyName(full, undefined);
    const mentions = occurrences(text, full);
    if (fullType !== 'concept' && mentions.length > 0) result.set(full, { text: full, type: fullType, mentions });
  }
  return [...result.values()];
}

/** "Tim" is "Tim Cook" when it never stands without it: the tagger takes some surnames for verbs, and cuts "Saint-Germain". */
function withSurname(text: string, name: string): string {
  const followers = occurrences(text, name).map(
    ({ end }) => /^[ -]\p{Lu}\p{Ll}+\b/u.exec(text.slice(end, end + 40))?.[0],
  );
  const [first] = followers;
  return first && followers.every((follower) => follower === first) ? `${name}${first}` : name;
}
