/** How the document describes the callbacks: requests that Postback sends, as webhooks of OpenAPI. */
import { z } from 'zod';
import type { oas31, ZodOpenApiPathItemObject, ZodOpenApiResponsesObject } from 'zod-openapi';
import { named } from './openapi-names.js';

/** The heading of all callbacks. Generators of clients make a file for each heading, so that of a service's routes has no callbacks. */
export const CALLBACKS_TAG = { name: 'Callbacks', description: 'Requests that Postback sends to receivers.' };

interface CallbackDescription {
  operationId: string;
  summary: string;
  description: string;
  headers: z.ZodRawShape;
  body: z.ZodType;
  /** Responses of the receiver with a meaning of their own. */
  responses?: ZodOpenApiResponsesObject;
}

export function describeCallback(callback: CallbackDescription): ZodOpenApiPathItemObject {
  const { operationId, summary, description, headers, body, responses } = callback;
  return {
    post: {
      operationId,
      tags: [CALLBACKS_TAG.name],
      summary,
      description,
      security: [],
      requestParams: { header: z.object(headers) },
      requestBody: {
        required: true,
        content: { 'application/json': { schema: named(body, `${operationId}Event`) } },
      },
      responses: { '2XX': { description: 'Accepted.' }, ...responses },
    },
  };
}

/** A callback may gain fields, as a response may. Changes the document. */
export function allowNewFields({ webhooks = {}, components }: oas31.OpenAPIObject): void {
  const seen = new Set<unknown>();
  const visit = (part: unknown): void => {
    if (typeof part !== 'object' || part === null || seen.has(part)) return;
    seen.add(part);
    const schema = part as oas31.SchemaObject;
    if (schema.$ref) visit(components?.schemas?.[schema.$ref.split('/').at(-1)!]);
    if (schema.additionalProperties === false) delete schema.additionalProperties;
    Object.values(part).forEach(visit);
  };
  visit(webhooks);
}
