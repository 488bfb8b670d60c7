import { createHash } from 'node:crypto';
import { type DataConverter, METADATA_ENCODING_KEY, type Payload, type PayloadCodec } from '@temporalio/common';
import proto from '@temporalio/proto';
import { decrypt, encrypt } from '../domain/sealing.js';

const { Payload: PayloadMessage } = proto.temporal.api.common.v1;

const ENCODING = Buffer.from('binary/encrypted');
const KEY_ID = 'encryption-key-id';

/**
 * The converter of API and workers: encrypts what Temporal stores of inputs, results, signals and summaries. Workflow
 * ids, search attributes and the messages of failures stay readable (docs/operators.md).
 * @param keys comma-separated; each is 32 bytes, base64. The first encrypts, all decrypt; undefined: no encryption
 * @throws Error when a key has another length
 */
export function dataConverterOf(keys: string | undefined): DataConverter {
  return keys === undefined ? {} : { payloadCodecs: [createPayloadCodec(keys.split(',').map(readKey))] };
}

/** Encrypts payloads with AES-256-GCM. Payloads that were stored without encryption are passed through. */
function createPayloadCodec(keys: readonly Buffer[]): PayloadCodec {
  const byId = new Map(keys.map((key) => [idOf(key), key]));
  const [[id, key]] = byId as unknown as [[string, Buffer]];
  return {
    encode: async (payloads) => payloads.map((payload) => encryptPayload(payload, id, key)),
    decode: async (payloads) =>
      payloads.map((payload) => (isEncrypted(payload) ? decryptPayload(payload, byId) : payload)),
  };
}

function encryptPayload(payload: Payload, id: string, key: Buffer): Payload {
  return {
    metadata: { [METADATA_ENCODING_KEY]: ENCODING, [KEY_ID]: Buffer.from(id) },
    data: encrypt(key, PayloadMessage.encode(payload).finish()),
  };
}

function decryptPayload({ metadata, data }: Payload, keys: ReadonlyMap<string, Buffer>): Payload {
  const id = Buffer.from(metadata?.[KEY_ID] ?? []).toString();
  const key = keys.get(id);
  if (!key) throw new Error(`POSTBACK_TEMPORAL_CODEC_KEYS has no key with the id ${id}.`);
  return PayloadMessage.decode(decrypt(key, Buffer.from(data ?? [])));
}

function isEncrypted({ metadata }: Payload): boolean {
  return ENCODING.equals(metadata?.[METADATA_ENCODING_KEY] ?? Buffer.of());
}

function readKey(text: string): Buffer {
  const key = Buffer.from(text.trim(), 'base64');
  if (key.length !== 32) throw new Error('POSTBACK_TEMPORAL_CODEC_KEYS: each key must be 32 bytes, base64 encoded');
  return key;
}

/** Names a key in the metadata of a payload without revealing it. */
function idOf(key: Buffer): string {
  return createHash('sha256').update('payload-codec').update(key).digest('hex').slice(0, 8);
}
