import { createHash, randomBytes, randomUUID } from 'node:crypto';
import { ulid } from 'ulid';

/** Ids sort by the time they were made, so an index on them grows at one end. */
const prefixed = (prefix: string) => (): string => `${prefix}_${ulid().toLowerCase()}`;

export const newDeliveryId = prefixed('dlv');
/** Internal id of a database: fixed for its life, given to receivers as the deprecated `tenant_id`. */
export const newDatabaseId = prefixed('tnt');
export const newBatchId = prefixed('bat');
export const newFileId = prefixed('fil');
export const newItemId = prefixed('itm');
export const newRemovalId = prefixed('rmv');
export const newChangeId = prefixed('chg');
export const newConnectorId = prefixed('con');
export const newKeyId = prefixed('key');
export const newSigningKeyId = prefixed('sig');
export const newJobId = (): string => randomUUID();
export const newExecutionId = (): string => randomUUID();
export const newFeedbackId = prefixed('fbk');
export const newRequestId = prefixed('req');
export const newAuthenticationId = prefixed('auth');
/** Test deliveries leave no record; the prefix tells a receiver so (specification, "Test delivery payload"). */
export const newTestDeliveryId = prefixed('test');

/** A signing secret made by the service: `whsec_` and 32 random bytes, base64url. */
export function newSigningSecret(): string {
  return `whsec_${randomBytes(32).toString('base64url')}`;
}

/** A chunk's id follows from its place, so that a repeated activity writes the same chunks again. */
export function chunkId(itemKey: string, version: number, ordinal: number): string {
  return `chk_${itemKey.slice(4)}_${version}_${ordinal}`;
}

export function sha256Hex(input: string | Uint8Array): string {
  return createHash('sha256').update(input).digest('hex');
}
