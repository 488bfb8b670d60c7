import { canonicalJson, type Json, JsonError, parseExact } from '../domain/canonical-json.js';
import { ServiceError } from '../domain/errors.js';

/** Characters of one value as canonical JSON, including its indentation. */
const MAX_LENGTH = 256 * 1024;

/**
 * Reads the fields of a body with the numbers as the client wrote them: 1.0 stays 1.0, and large integers keep their
 * digits.
 * @param text the body, a JSON object
 * @throws ServiceError VALIDATION_ERROR for an object with a repeated name, and for a body that is nested too deep
 */
export function parseKeepingNumbers(text: string): { [name: string]: Json } {
  return asValidationErrors('', () => parseExact(text) as { [name: string]: Json });
}

/**
 * Writes a field of such a body as canonical JSON.
 * @throws ServiceError VALIDATION_ERROR for a value that canonical JSON cannot represent, or that gets too long
 */
export function canonicalFieldJson(name: string, value: Json): string {
  return asValidationErrors(`${name}: `, () => {
    // Payloads have the value one level down, where indentation makes it longer.
    canonicalJson({ [name]: value }, MAX_LENGTH);
    return canonicalJson(value);
  });
}

function asValidationErrors<Result>(prefix: string, work: () => Result): Result {
  try {
    return work();
  } catch (error) {
    if (error instanceof JsonError) throw new ServiceError('VALIDATION_ERROR', `${prefix}${error.message}`);
    throw error;
  }
}
