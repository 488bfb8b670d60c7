import { errors } from '@opensearch-project/opensearch';
import { SearchIndexError } from '../../../../domain/content/search.js';

const { ResponseError } = errors;

/** Statuses of a cluster that is overloaded, or lacks a host at the moment. */
const BUSY = [429, 502, 503, 504];

function typeOf(error: unknown): string {
  return error instanceof ResponseError ? String(error.body?.error?.type ?? '') : '';
}

/** Whether an index or its alias is missing. */
export function isMissing(error: unknown): boolean {
  return /^(index_not_found|aliases_not_found)_exception$/.test(typeOf(error));
}

/** Whether another process has created the index. */
export function isConflict(error: unknown): boolean {
  return typeOf(error) === 'resource_already_exists_exception';
}

/** @returns an error that callers know. The client's own errors hold the request, which can contain documents */
export function readable(error: unknown, table: string): unknown {
  if (isMissing(error)) return new Error(`The table ${table} was not found in OpenSearch.`);
  if (error instanceof ResponseError) {
    const { statusCode } = error;
    const busy = statusCode !== null && BUSY.includes(statusCode);
    const message = `OpenSearch responded ${statusCode}: ${typeOf(error) || 'no reason'}`;
    return busy ? new SearchIndexError(message) : new Error(message);
  }
  if (error instanceof errors.OpenSearchClientError) return new SearchIndexError(`OpenSearch: ${error.message}`);
  return error;
}
