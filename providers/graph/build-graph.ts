import {
  type Entity,
  type EntityType,
  type Evidence,
  type Graph,
  type GraphText,
  MAX_GRAPH_CHARACTERS,
  type Relation,
} from '../../domain/content/graph.js';
import { MAX_ENTITIES, MAX_EVIDENCE, MAX_MENTIONS, MAX_RELATIONS, shorten } from './bounds.js';
import { LEGAL_FORM } from './classify-name.js';
import { readSentence } from './find-relations.js';
import type { Mention } from './mention.js';
import { readSentences } from './read-sentences.js';
import { Discourse } from './resolve-references.js';
import { genderOf, isKnownOrganization } from './vocabulary.js';

interface Node {
  names: Map<string, number>;
  types: Map<EntityType, number>;
  count: number;
  /** True when its capital letter shows at least once that it is a name. */
  certain: boolean;
  /** True when "the" stands before it at least once. */
  hasArticle: boolean;
  mentions: Evidence[];
}
interface Edge {
  source: string;
  target: string;
  relation: string;
  count: number;
  evidence: Evidence[];
}

/** What follows the name of a company and says nothing of its business. */
const ONLY_COMPANY = /^( (company|corporation|group|holdings?|motors?|and|&))+$/;

/** Extracts the graph of one item from its chunks. Deterministic: the same chunks give the same graph. */
export function buildGraph(chunks: readonly GraphText[]): Graph {
  const nodes = new Map<string, Node>();
  const edges = new Map<string, Edge>();
  const given = new Map<string, string>();
  let characters = 0;
  for (const { chunk_id, text, code } of chunks) {
    characters += text.length;
    if (characters > MAX_GRAPH_CHARACTERS) break;
    const discourse = new Discourse();
    for (const sentence of readSentences(text, code)) {
      const evidence = { chunk_id, sentence: shorten(sentence.text) };
      const { mentions, relations, aliases } = readSentence(sentence, discourse);
      for (const mention of mentions) addMention(nodes, mention, evidence);
      for (const { source, target, relation } of relations)
        addRelation(edges, keyOf(source), keyOf(target), relation, evidence);
      for (const { alias, name } of aliases) given.set(keyOf(alias), keyOf(name));
    }
  }
  return select(nodes, edges, given);
}

function addMention(nodes: Map<string, Node>, mention: Mention, evidence: Evidence): void {
  const key = keyOf(mention);
  const node = nodes.get(key) ?? {
    names: new Map(),
    types: new Map(),
    count: 0,
    certain: false,
    hasArticle: false,
    mentions: [],
  };
  nodes.set(key, node);
  node.count++;
  node.certain ||= !mention.doubtful;
  node.hasArticle ||= mention.hasArticle === true;
  node.names.set(mention.name, (node.names.get(mention.name) ?? 0) + 1);
  node.types.set(mention.type, (node.types.get(mention.type) ?? 0) + 1);
  addEvidence(node.mentions, evidence, MAX_MENTIONS);
}

function addRelation(
  edges: Map<string, Edge>,
  source: string,
  target: string,
  relation: string,
  evidence: Evidence,
): void {
  if (source === target) return;
  const key = JSON.stringify([source, target, relation]);
  const edge = edges.get(key) ?? { source, target, relation, count: 0, evidence: [] };
  edges.set(key, edge);
  edge.count++;
  addEvidence(edge.evidence, evidence, MAX_EVIDENCE);
}

function addEvidence(list: Evidence[], evidence: Evidence, limit: number): void {
  const repeated = list.some(
    ({ chunk_id, sentence }) => chunk_id === evidence.chunk_id && sentence === evidence.sentence,
  );
  if (list.length < limit && !repeated) list.push(evidence);
}

/** Selects the relevant entities, the most mentioned first, and the relations between them. */
function select(nodes: Map<string, Node>, edges: Map<string, Edge>, given: Map<string, string>): Graph {
  const aliases = findAliases(nodes);
  for (const [short, full] of given)
    if (nodes.has(short) && nodes.has(full) && !given.has(full) && short !== full) aliases.set(short, full);
  const resolve = (key: string) => aliases.get(key) ?? key;
  for (const [short, full] of aliases) merge(nodes.get(full)!, nodes.get(short)!);
  const selected = [...nodes]
    .filter(([key, node]) => !aliases.has(key) && isRelevant(node))
    .sort(([, a], [, b]) => b.count - a.count)
    .slice(0, MAX_ENTITIES);
  const names = new Map(selected.map(([key, node]) => [key, bestName(node)]));
  const entities: Entity[] = selected.map(([key, node]) => ({
    name: names.get(key)!,
    type: typeOf(node),
    mentions: node.mentions,
  }));
  const relations = new Map<string, Edge>();
  for (const edge of edges.values()) {
    const [source, target] = [names.get(resolve(edge.source)), names.get(resolve(edge.target))];
    if (!source || !target) continue;
    for (const evidence of edge.evidence) addRelation(relations, source, target, edge.relation, evidence);
  }
  const strongest = [...relations.values()].sort((a, b) => b.count - a.count).slice(0, MAX_RELATIONS);
  return { entities, relations: strongest.map(({ count: _, ...relation }): Relation => relation) };
}

/** A certain name is always relevant; a concept only with more than one word. */
function isRelevant(node: Node): boolean {
  if (typeOf(node) !== 'concept') return node.certain;
  return bestName(node).includes(' ');
}

/**
 * Finds short forms: "Halvorsen" is "Ingrid Halvorsen", and "Aqualis" is "Aqualis Systems", when the text has the full name
 * first, and no other that ends or begins like that. A person goes before things that are named after them.
 * @returns the key of the full name by the key of the short one
 */
function findAliases(nodes: Map<string, Node>): Map<string, string> {
  const fullNames = new Map<string, string[]>();
  for (const [key, node] of nodes) {
    const words = key.split(' ');
    const type = typeOf(node);
    if (words.length < 2 || !(type === 'person' || type === 'organization' || type === 'name')) continue;
    // "Nokia 3310", "the Garmin Fenix": a product, and the short name is that of its maker.
    if (/\d/.test(words.at(-1)!) || (type === 'name' && node.hasArticle)) continue;
    for (const short of type === 'organization' ? [words[0]!] : [words[0]!, words.at(-1)!]) {
      const names = fullNames.get(short);
      if (names) names.push(key);
      else fullNames.set(short, [key]);
    }
  }
  const order = new Map([...nodes.keys()].map((key, index) => [key, index]));
  const aliases = new Map<string, string>();
  for (const [short, keys] of fullNames) {
    const node = nodes.get(short);
    if (!node) continue;
    const earlier = keys.filter((key) => order.get(key)! < order.get(short)!);
    // Minutes write "Jonas" before they write "Jonas Eriksen".
    const isPerson = (key: string) => typeOf(nodes.get(key)!) === 'person';
    const before = earlier.filter(isPerson);
    // "Mozart" before "Leopold Mozart" is another member of the family.
    const isGiven = (key: string) => isPerson(key) && (key.startsWith(`${short} `) || genderOf(short) !== null);
    const people = before.length === 0 && typeOf(node) === 'person' ? keys.filter(isGiven) : before;
    const [full, other] = people.length > 0 ? people : earlier;
    if (full === undefined || other !== undefined) continue;
    // "Siemens" beside "Siemens Energy" is another company, and "Boeing" beside "Boeing Company" is not.
    const isOther = isKnownOrganization(bestName(node)) && !ONLY_COMPANY.test(full.slice(short.length));
    if (typeOf(nodes.get(full)!) === 'organization' && isOther) continue;
    const [shortType, fullType] = [typeOf(node), typeOf(nodes.get(full)!)];
    if (shortType === 'name' || fullType === 'name' || shortType === fullType) aliases.set(short, full);
  }
  return aliases;
}

function merge(into: Node, from: Node): void {
  into.count += from.count;
  into.certain ||= from.certain;
  for (const evidence of from.mentions) addEvidence(into.mentions, evidence, MAX_MENTIONS);
}

/** Names that differ only in case, legal form or punctuation are the same entity. A concept is never the same as a name. */
function keyOf({ name, type }: Mention): string {
  const words = name.toLowerCase().replace(/[.,]/g, '').split(' ');
  const base = words.length > 1 && LEGAL_FORM.test(words.at(-1)!) ? words.slice(0, -1) : words;
  return type === 'concept' ? `~ ${base.join(' ')}` : base.join(' ');
}

const mostFrequent = <T>(counts: Map<T, number>, not?: T) =>
  [...counts].filter(([value]) => value !== not).sort((a, b) => b[1] - a[1])[0]?.[0];
/** The most frequent type, where the sentences that show no type (`name`) do not count. */
const typeOf = (node: Node): EntityType => mostFrequent(node.types, 'name') ?? 'name';
const bestName = (node: Node): string => mostFrequent(node.names)!;

/** The work of a graph process: the graph of each of these items. */
export default async (items: readonly Parameters<typeof buildGraph>[0][]): Promise<Graph[]> => items.map(buildGraph);
