/** Just enough of the Protocol Buffers wire format to change a few messages and keep the bytes of all others. */

/** A field of a message. */
export interface Field {
  number: number;
  /** The content of a string, bytes or message field; the number of an integer field. */
  value: Buffer | number;
  /** The field with its tag, as it stands in the message. */
  raw: Buffer;
}

const VARINT = 0;
const FIXED64 = 1;
const BYTES = 2;
const FIXED32 = 5;

/** @throws RangeError when the bytes end within a field, Error for a field type that is not supported */
export function readFields(message: Buffer): Field[] {
  const fields: Field[] = [];
  let at = 0;
  /** Reads an integer of at most 53 bits; the larger integers of messages, such as negative numbers, are not read here. */
  const varint = () => {
    let value = 0;
    for (let factor = 1; ; factor *= 128) {
      const byte = message.readUInt8(at);
      at += 1;
      value += (byte & 127) * factor;
      if (byte < 128) return value;
    }
  };
  while (at < message.length) {
    const start = at;
    const tag = varint();
    const type = tag & 7;
    let value: Buffer | number;
    if (type === VARINT) {
      value = varint();
    } else {
      const length = type === BYTES ? varint() : type === FIXED32 ? 4 : type === FIXED64 ? 8 : Number.NaN;
      if (Number.isNaN(length)) throw new Error(`unknown wire type ${type}`);
      if (at + length > message.length) throw new RangeError('the message is cut off');
      value = message.subarray(at, at + length);
      at += length;
    }
    fields.push({ number: Math.floor(tag / 8), value, raw: message.subarray(start, at) });
  }
  return fields;
}

/** Encodes a field: a number as varint, everything else with its length. */
export function field(number: number, value: Buffer | string | number): Buffer {
  if (typeof value === 'number') return Buffer.concat([varintOf(number * 8 + VARINT), varintOf(value)]);
  const bytes = Buffer.from(value as string);
  return Buffer.concat([fieldHeader(number, bytes.length), bytes]);
}

/** The bytes before the content of a string, bytes or message field. */
export function fieldHeader(number: number, length: number): Buffer {
  return Buffer.concat([varintOf(number * 8 + BYTES), varintOf(length)]);
}

function varintOf(value: number): Buffer {
  const bytes: number[] = [];
  let rest = value;
  for (; rest >= 128; rest = Math.floor(rest / 128)) bytes.push((rest % 128) + 128);
  return Buffer.from([...bytes, rest]);
}
