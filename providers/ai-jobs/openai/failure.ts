import { ProviderError } from '../../../domain/errors.js';

/** Statuses after which the same request may succeed. */
const PASSING = new Set([408, 409, 425, 429]);
/** What the sender of the job, or the operator, can do about the others. The server's own words may quote the request. */
const FINAL: Record<number, string> = {
  401: "The AI server refuses the service's credentials.",
  402: "The service's account at the AI server is out of credit.",
  403: "The AI server refuses the service's credentials.",
  404: 'The AI server does not know this model, or does not offer this kind of request.',
  413: 'The input is too large for the AI server.',
  415: 'The AI server does not read files of this format.',
};

/** An answer with a failure status as an error without key, address and content. */
export function failureOf({ status, headers }: { status: number; headers: Headers }): ProviderError {
  if (status === 429)
    return new ProviderError('The AI server is asked too often at the moment.', true, retryAfterMs(headers));
  if (status >= 500 || PASSING.has(status))
    return new ProviderError(`The AI server failed (status ${status}).`, true, retryAfterMs(headers));
  const known = FINAL[status];
  return new ProviderError(
    known ??
      `The AI server refuses the request (status ${status}): the input may be too long, or not fit for this model.`,
    false,
  );
}

/** `Retry-After` in seconds or as a date. */
function retryAfterMs(headers: Headers): number | undefined {
  const value = headers.get('retry-after');
  if (!value) return undefined;
  const ms = /^\d+$/.test(value) ? Number(value) * 1_000 : Date.parse(value) - Date.now();
  return ms > 0 ? ms : undefined;
}
