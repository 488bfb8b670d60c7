import { createHash, randomBytes, randomInt, randomUUID } from 'node:crypto';
import { decodeTime, encodeTime, isValid, ulid } from 'ulid';

/** The latest time that an id can have. */
const MAX_ULID_MS = 2 ** 48 - 1;

/** @returns 0 to below 1. Node asks the system for the bytes of thousands of such numbers at a time. */
const nextRandom = (): number => randomInt(256) / 256;

/** Ids sort by creation time, so an index on them grows at one end. */
const prefixed =
  (prefix: string) =>
  (createdAt?: Date): string =>
    `${prefix}_${ulid(createdAt?.getTime(), nextRandom).toLowerCase()}`;

/** @param createdAt of the delivery, by the database's clock: lists and filters by time use the id, and show this time */
export const newDeliveryId: (createdAt: Date) => string = prefixed('dlv');
/** @returns an id below all ids of deliveries that are created at this time or later. @param ms since 1970 */
export function lowestDeliveryId(ms: number): string {
  const time = encodeTime(Math.min(Math.max(0, ms), MAX_ULID_MS));
  return `dlv_${time.toLowerCase()}`;
}
/** @returns when an id was created; null for a text that is not such an id */
export function timeOfId(id: string): Date | null {
  const time = id.slice(id.indexOf('_') + 1).toUpperCase();
  return isValid(time) ? new Date(decodeTime(time)) : null;
}
export const newReplayId = prefixed('rpl');
/** Internal id of a database. It never changes, and receivers see it as the deprecated `tenant_id`. */
export const newDatabaseId = prefixed('tnt');
export const newBatchId = prefixed('bat');
export const newFileId = prefixed('fil');
export const newJobGroupId = prefixed('grp');
export const newItemId = prefixed('itm');
export const newRemovalId = prefixed('rmv');
export const newRebuildId = prefixed('rbd');
export const newChangeId = prefixed('chg');
export const newConnectorId = prefixed('con');
export const newKeyId = prefixed('key');
export const newAuditId = prefixed('aud');
export const newSigningKeyId = prefixed('sig');
export const newJobId = (): string => randomUUID();
export const newExecutionId = (): string => randomUUID();
export const newFeedbackId = prefixed('fbk');
export const newRequestId = prefixed('req');
export const newAuthenticationId = prefixed('auth');
/** Test deliveries have no record; receivers recognise them by the prefix (specification, "Test delivery payload"). */
export const newTestDeliveryId = prefixed('test');

/** @returns a new signing secret: `whsec_` and 32 random bytes in base64, as Standard Webhooks libraries take it */
export function newSigningSecret(): string {
  return `whsec_${randomBytes(32).toString('base64')}`;
}

/** @returns the id of a chunk, which derives from its position, so that a repeated activity writes the same chunks */
export function chunkId(itemKey: string, version: number, ordinal: number): string {
  return `chk_${itemKey.slice(4)}_${version}_${ordinal}`;
}

/** @returns the item and its version that a chunk belongs to. @param id from `chunkId` */
export function chunkOwner(id: string): { item: string; version: number } {
  const [, item, version] = id.split('_');
  return { item: `itm_${item}`, version: Number(version) };
}

/** @returns SHA-256 in lower-case hex */
export function sha256Hex(input: string | Uint8Array): string {
  return createHash('sha256').update(input).digest('hex');
}
