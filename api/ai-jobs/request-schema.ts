import { z } from 'zod';
import { AI_FEATURES, settingsOf } from '../../domain/ai-jobs/features.js';
import { jobRequestSchema } from '../../domain/ai-jobs/jobs.js';
import type { AvailableProvider } from './catalogue.js';

type JsonSchema = z.core.JSONSchema.JSONSchema;

/**
 * The request of a job, which the document describes for each available provider: its models, and the `input` of its
 * subfeature.
 */
export function describedJobRequest(available: readonly AvailableProvider[]): typeof jobRequestSchema {
  if (available.length === 0) return jobRequestSchema;
  return jobRequestSchema.meta({
    anyOf: available.map((provider) => ({
      required: ['model', 'input'],
      properties: { model: modelOf(provider), input: inputOf(provider) },
    })),
  });
}

function modelOf({ subfeature, name, models }: AvailableProvider): JsonSchema {
  const whole = `${subfeature}/${name}`;
  return { enum: [whole, ...(models?.known ?? []).map((model) => `${whole}/${model}`)] };
}

/** The fields of the input of a job, with the settings among them. */
export function inputSchemaOf({ subfeature, models }: AvailableProvider): JsonSchema {
  const { $schema, ...input } = z.toJSONSchema(AI_FEATURES[subfeature].input, { io: 'input' });
  const properties = withTokenLimit(input.properties as Record<string, JsonSchema>, models?.max_tokens ?? null);
  return { ...input, properties };
}

/** The same as a request has it: a setting may be in `settings` instead, but not in both. */
function inputOf(available: AvailableProvider): JsonSchema {
  const { subfeature } = available;
  const input = inputSchemaOf(available);
  const fields = input.properties as Record<string, JsonSchema>;
  const settings = settingsOf(subfeature);
  const nested = Object.fromEntries(settings.map((name) => [name, fields[name]!]));
  const required = input.required ?? [];
  return {
    ...input,
    properties: { ...fields, settings: { type: 'object', properties: nested, additionalProperties: false } },
    required: required.filter((name) => !settings.includes(name)),
    ...(settings.length > 0 ? { allOf: settings.map((name) => givenOnce(name, required.includes(name))) } : {}),
  };
}

function givenOnce(name: string, isRequired: boolean): JsonSchema {
  const beside = { required: [name] };
  const nested = { required: ['settings'], properties: { settings: { required: [name] } } };
  return isRequired ? { oneOf: [beside, nested] } : { not: { allOf: [beside, nested] } };
}

function withTokenLimit(fields: Record<string, JsonSchema>, limit: number | null): Record<string, JsonSchema> {
  if (limit === null || !fields.max_tokens) return fields;
  return { ...fields, max_tokens: { ...fields.max_tokens, maximum: limit } };
}
