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

const ID = '01kahqv5f2m8x3d7c9w1n4b6zt';
const UUID = '7c9e6679-7425-40de-944b-e07fc1f90ae7';

const PATH_VALUES: Record<string, string> = {
  database: 'library',
  tenant_id: 'library',
  id: 'handbook',
  connector_id: `con_${ID}`,
  delivery_id: `dlv_${ID}`,
  replay_id: `rpl_${ID}`,
  key_id: `key_${ID}`,
  file_id: `fil_${ID}`,
  job_id: UUID,
  crew: 'support-reply',
  task_id: 'draft_reply',
  kickoff_id: UUID,
};

/** The example value of a path parameter. */
export function examplePathValue(path: string, name: string): string | undefined {
  return path.startsWith('/authentication') && name === 'id' ? `auth_${ID}` : PATH_VALUES[name];
}
