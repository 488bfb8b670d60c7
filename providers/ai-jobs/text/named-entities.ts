import type { Entities, ItemEntity } from 'wink-nlp';
import type { FeatureOutput } from '../../../domain/ai-jobs/features.js';
import type { FullResult, ValidatedInput } from '../../../domain/ai-jobs/provider.js';
import { buildGraph } from '../../graph/build-graph.js';
import { classifyName } from '../../graph/classify-name.js';
import { nlp, occurrences, type Span, withoutLongTokens } from './english.js';

type Entity = FeatureOutput<'text/named_entity_recognition'>['entities'][number];
const { its } = nlp;

/** Our types by the library's names of the entities that are recognised by their form. */
const FORMAL_TYPES: Record<string, Entity['type']> = {
  DATE: 'date',
  TIME: 'time',
  DURATION: 'time',
  MONEY: 'money',
  PERCENT: 'percent',
  EMAIL: 'email',
  URL: 'url',
};

/** Finds names, as for the knowledge graph, and dates, amounts, addresses and URLs by their form, with all their mentions. */
export function analyse({
  text,
}: ValidatedInput<'text/named_entity_recognition'>): FullResult<'text/named_entity_recognition'> {
  const cleaned = withoutLongTokens(text);
  const recognised = nlp.readDoc(cleaned).entities();
  const found = [...formalEntities(text, cleaned, recognised), ...namedEntities(text)];
  // The longest of overlapping mentions is used: "3 March 2021", not "2021".
  const spans = found
    .flatMap((entity) => entity.mentions.map((mention) => ({ entity, mention })))
    .sort((a, b) => length(b.mention) - length(a.mention));
  const covered = new Uint8Array(text.length);
  const chosen = spans.filter(({ mention }) => {
    if (covered.subarray(mention.start, mention.end).includes(1)) return false;
    covered.fill(1, mention.start, mention.end);
    return true;
  });
  const entities = [...Map.groupBy(chosen, ({ entity }) => entity)].map(([entity, found]) => ({
    ...entity,
    mentions: found.map(({ mention }) => mention).sort((a, b) => a.start - b.start),
  }));
  return {
    output: { entities: entities.sort((a, b) => a.mentions[0]!.start - b.mentions[0]!.start) },
    original: { entities: recognised.out(its.detail) },
  };
}

const length = ({ start, end }: Span) => end - start;

/** @param cleaned the text in which the library has recognised its entities */
function formalEntities(text: string, cleaned: string, recognised: Entities): Entity[] {
  const types = new Map<string, Entity['type']>();
  for (const [url] of text.matchAll(/https?:\/\/[^\s<>"')\]]*[\w/]/g)) types.set(url, 'url');
  for (const [email] of cleaned.matchAll(/(?<![\w.+-])[\w.+-]+@[\w-]+(\.[\w-]+)+/g)) types.set(email, 'email');
  recognised.each((entity: ItemEntity) => {
    const type = FORMAL_TYPES[entity.out(its.type) as string];
    // "Today" and "later" are not calendar dates.
    if (type && /\d/.test(entity.out())) types.set(entity.out().replace(/[.,]$/, ''), type);
  });
  return [...types].map(([name, type]) => ({ text: name, type, mentions: exactMatches(text, name) }));
}

/** Unlike names, these may begin and end with symbols ("$40", "12%"). */
function exactMatches(text: string, name: string): Span[] {
  const spans: Span[] = [];
  for (let start = text.indexOf(name); start !== -1; start = text.indexOf(name, start + name.length))
    spans.push({ start, end: start + name.length });
  return spans;
}

function namedEntities(text: string): Entity[] {
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

/** "Tim" becomes "Tim Cook" when "Cook" always follows: the tagger takes some surnames for verbs and splits "Saint-Germain". */
function withSurname(text: string, name: string): string {
  const followers = occurrences(text, name).map(
    ({ end }) => /^[ -]\p{Lu}\p{Ll}+\b/u.exec(text.slice(end, end + 40))?.[0],
  );
  const [first] = followers;
  return first && followers.every((follower) => follower === first) ? `${name}${first}` : name;
}
