import type { z } from 'zod';

/**
 * The id of an operation, from which generated clients name their functions: the summary without articles, in camel
 * case. "Get a delivery" has the id `getDelivery`.
 */
export function operationIdOf(summary: string, deprecated: boolean): string {
  const words = summary
    .replace(/\b(a|an|the) /gi, '')
    .replaceAll("'s", '')
    .split(/[^A-Za-z0-9]+/)
    .filter((word) => word !== '');
  const id = words.map((word, n) => (n === 0 ? word.toLowerCase() : capitalise(word.toLowerCase()))).join('');
  return deprecated ? `${id}Deprecated` : id;
}

/** Makes the schema a component of the document, so that generated clients have a type of this name. */
export function named<Schema extends z.ZodType>(schema: Schema, id: string): Schema {
  return schema.meta()?.id === undefined ? schema.meta({ ...schema.meta(), id: capitalise(id) }) : schema;
}

function capitalise(word: string): string {
  return word.slice(0, 1).toUpperCase() + word.slice(1);
}
