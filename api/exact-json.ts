import { canonicalJson, type Json, JsonError, parseExact } from '../domain/canonical-json.js';
import { ServiceError } from '../domain/errors.js';

/** Characters of one value, indented as it is written. */
const MAX_LENGTH = 256 * 1024;

/**
 * The members of a body as its client wrote them: 1.0 stays 1.0, and large integers keep their digits.
 * @param text the body, a JSON object
 * @throws ServiceError VALIDATION_ERROR for a name that an object has twice, and for nesting beyond reason
 */
export function readExact(text: string): { [name: string]: Json } {
  return known('', () => parseExact(text) as { [name: string]: Json });
}

/** Such a member as canonical JSON. @throws ServiceError VALIDATION_ERROR for one that cannot be written as it is */
export function writeExact(name: string, value: Json): string {
  return known(`${name}: `, () => {
    // One level down, where payloads have it.
    canonicalJson({ [name]: value }, MAX_LENGTH);
    return canonicalJson(value);
  });
}

function known<Result>(prefix: string, work: () => Result): Result {
  try {
    return work();
  } catch (error) {
    if (error instanceof JsonError) throw new ServiceError('VALIDATION_ERROR', `${prefix}${error.message}`);
    throw error;
  }
}
