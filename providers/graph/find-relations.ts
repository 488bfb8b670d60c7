import { CO_OCCURS } from '../../domain/content/graph.js';
import { type Alias, aliasesOf } from './aliases.js';
import { takeAppositions } from './appositions.js';
import type { Argument } from './clause.js';
import { readClauses } from './clauses.js';
import type { Mention, Noun } from './mention.js';
import { findNounPhrases } from './noun-phrases.js';
import { listsOf, readPhrases } from './phrases.js';
import type { Discourse } from './resolve-references.js';
import type { Sentence } from './tagger.js';

/** Two entities of a sentence and the words that relate them. */
export interface FoundRelation {
  source: Mention;
  target: Mention;
  relation: string;
}

/** What a sentence names, and what it states of it. */
export interface SentenceGraph {
  /** In reading order. */
  mentions: Mention[];
  relations: FoundRelation[];
  aliases: Alias[];
}

/** Reads a sentence. Neighbouring names that it does not relate co-occur. */
export function readSentence(sentence: Sentence, discourse: Discourse): SentenceGraph {
  const found = findNounPhrases(sentence);
  if (sentence.isForeign) return namesOf(found);
  const all = readPhrases(sentence, found);
  const nouns = all.filter((phrase) => phrase.kind === 'noun');
  const aliases = aliasesOf(sentence.tokens, found);
  const named = nouns.map(({ entity }) => entity);
  const { phrases, descriptions } = takeAppositions(all);
  const clauses = readClauses(phrases);
  discourse.readSentence(nouns, clauses.roles, descriptions, listsOf(phrases));
  const isQuestion = sentence.text.trimEnd().endsWith('?');
  const statements = [...(isQuestion ? [] : clauses.statements), ...descriptions.flatMap((each) => each.statements)];
  const relations = statements.flatMap(({ source, relation, target }) =>
    meetIn(source, target)
      ? []
      : meantBy(source).flatMap((each) => meantBy(target).map((other) => ({ source: each, relation, target: other }))),
  );
  const mentions = nouns
    .flatMap((noun, index) => {
      // A reference is no mention: the sentence does not name what it means.
      const own = noun.entity === named[index] ? noun.entity : null;
      return [own, noun.title, ...noun.others].filter((mention) => mention !== null);
    })
    .sort((a, b) => a.from - b.from);
  for (const { alias, name } of aliases) discourse.learnAlias(alias, name);
  return { mentions, relations: [...relations, ...coOccurrences(mentions, relations)], aliases };
}

/** The names of a sentence whose grammar is unknown. There, a capital letter at its start shows no name. */
function namesOf(nouns: readonly Noun[]): SentenceGraph {
  const mentions = nouns.flatMap(({ entity, others }) =>
    [...others, ...(entity ? [entity] : [])].flatMap((mention) =>
      mention.type === 'concept'
        ? []
        : { ...mention, doubtful: mention.doubtful || (mention.from === 0 && !mention.name.includes(' ')) },
    ),
  );
  return { mentions, relations: coOccurrences(mentions, []), aliases: [] };
}

/** "Egypt and Sudan fear for their water": they do not fear for each other's. */
const meetIn = (source: Argument, target: Argument) =>
  (source.group !== undefined || target.group !== undefined) &&
  meantBy(source).some(({ name }) => meantBy(target).some((other) => other.name === name));

const meantBy = ({ entity, group }: Argument): readonly Mention[] => group ?? (entity ? [entity] : []);

function coOccurrences(mentions: readonly Mention[], relations: readonly FoundRelation[]): FoundRelation[] {
  const names = mentions.filter(({ type }) => type !== 'concept' && type !== 'date');
  const related = new Set(
    relations.flatMap(({ source, target }) => [`${source.name}|${target.name}`, `${target.name}|${source.name}`]),
  );
  return names.slice(1).flatMap((target, position) => {
    const source = names[position]!;
    return related.has(`${source.name}|${target.name}`) ? [] : [{ source, target, relation: CO_OCCURS }];
  });
}
