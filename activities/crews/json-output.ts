import { z } from 'zod';
import { ProviderError } from '../../domain/errors.js';

/**
 * Reads an output that must be JSON.
 * @param schema a JSON schema, as text
 * @param retryable whether the model may do better at the next call
 * @returns the JSON without anything around it
 * @throws ProviderError when it is no JSON, or does not match the schema
 */
export function readJsonOutput(text: string, schema: string, retryable: boolean): string {
  // Models like to put JSON into a block of Markdown.
  const json = (/^```\w*\n([\s\S]*?)\n?```$/.exec(text.trim())?.[1] ?? text).trim();
  let value: unknown;
  try {
    value = JSON.parse(json);
  } catch {
    throw new ProviderError('The output of the model is not JSON, as output_json demands.', retryable);
  }
  const checked = z.fromJSONSchema(JSON.parse(schema)).safeParse(value);
  if (checked.success) return json;
  const [issue] = checked.error.issues;
  const place = issue?.path.join('.') || 'the value';
  throw new ProviderError(`The output of the model does not match output_json: ${place} is not valid.`, retryable);
}
