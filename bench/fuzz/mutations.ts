import fc from 'fast-check';
import { fromBuffer } from 'yauzl';
import { zip } from '../../test/fixtures/made-files.js';

/** A change of bytes. Positions are ten thousandths of the length, so that a step fits any sample. */
export type Step =
  | { do: 'flip'; at: number; bit: number }
  | { do: 'fill'; at: number; length: number; byte: number }
  | { do: 'number'; at: number; value: number; bytes: 1 | 2 | 4 }
  | { do: 'delete'; at: number; length: number }
  | { do: 'repeat'; at: number; length: number; times: number }
  | { do: 'move'; at: number; length: number; to: number }
  | { do: 'insert'; at: number; token: string }
  | { do: 'cut'; at: number };

/** What parsers of the formats we read treat specially. */
const TOKENS = [
  '\0', '\r\n\r\n', '"', "'", '<', '</', '<!--', ']]>', '<![CDATA[', '<!DOCTYPE a [<!ENTITY b "c">]>', '&b;', '&#0;',
  '{', '[', '}', ']', '\\u0000', '\ud800', '\ufeff', 'endobj', 'stream', '/Length 4294967295', '1 0 R', 'xref', '%%EOF',
  '--', '--boundary', 'Content-Disposition: form-data; name="', '=?utf-8?b?', '=?utf-8?q?=', '\\', '\\bin99999999 ', '|', '---', '- ',
  '&anchor', '*anchor', '<<: *anchor', '!!js/function', '1e999', '-0', '9'.repeat(40), 'a'.repeat(5_000), '(', '(((((((((((',
]; // biome-ignore format: a list
const EXTREMES = [0, 1, 0x7f, 0x80, 0xff, 0x7fff, 0x8000, 0xffff, 0x7fffffff, 0x80000000, 0xffffffff];

const PLACES = 10_000;
const at = fc.nat(PLACES);
const position = (place: number, size: number) => Math.floor((place / PLACES) * size);
const length = fc.oneof(fc.nat(8), fc.nat(200), fc.nat(5_000));
const byte = fc.nat(255);
const step: fc.Arbitrary<Step> = fc.oneof(
  fc.record({ do: fc.constant('flip' as const), at, bit: fc.nat(7) }),
  fc.record({ do: fc.constant('fill' as const), at, length, byte }),
  fc.record({
    do: fc.constant('number' as const),
    at,
    value: fc.constantFrom(...EXTREMES),
    bytes: fc.constantFrom(1 as const, 2 as const, 4 as const),
  }),
  fc.record({ do: fc.constant('delete' as const), at, length }),
  fc.record({ do: fc.constant('repeat' as const), at, length, times: fc.oneof(fc.nat(4), fc.nat(500)) }),
  fc.record({ do: fc.constant('move' as const), at, length, to: at }),
  fc.record({ do: fc.constant('insert' as const), at, token: fc.constantFrom(...TOKENS) }),
  fc.record({ do: fc.constant('cut' as const), at }),
);

/** What is done to a sample: steps on its bytes, or on those of one entry of a zip container. */
export interface Mutation {
  /** Which entry, as a position in their list; null: the bytes of the container itself. */
  entry: number | null;
  steps: Step[];
}
export const mutation: fc.Arbitrary<Mutation> = fc.record({
  entry: fc.option(at, { nil: null, freq: 3 }),
  steps: fc.array(step, { minLength: 1, maxLength: 6 }),
});

/** Output is at most this much larger than its sample: long runs have a benchmark of their own. */
const MAX_GROWTH = 1024 * 1024;

/** @returns the sample with the steps applied to it, or to one of its entries when it is a zip */
export async function mutate(sample: Buffer, { entry, steps }: Mutation): Promise<Buffer> {
  if (entry === null || !sample.subarray(0, 4).equals(Buffer.from('PK\x03\x04'))) return apply(sample, steps);
  const entries = await readZip(sample);
  const names = [...entries.keys()];
  const name = names[position(entry, names.length - 1)]!;
  entries.set(name, apply(entries.get(name)!, steps));
  return zip(Object.fromEntries(entries));
}

function apply(sample: Buffer, steps: readonly Step[]): Buffer {
  return steps.reduce((bytes, each) => applyStep(bytes, each).subarray(0, sample.length + MAX_GROWTH), sample);
}

function applyStep(bytes: Buffer, change: Step): Buffer {
  const from = position(change.at, bytes.length);
  const joined = (...pieces: Buffer[]) => Buffer.concat(pieces);
  switch (change.do) {
    case 'flip': {
      const changed = Buffer.from(bytes);
      if (from < changed.length) changed[from]! ^= 1 << change.bit;
      return changed;
    }
    case 'fill':
      return Buffer.from(bytes).fill(change.byte, from, Math.min(bytes.length, from + change.length));
    case 'number': {
      const written = Buffer.alloc(4);
      written.writeUInt32LE(change.value);
      return joined(bytes.subarray(0, from), written.subarray(0, change.bytes), bytes.subarray(from + change.bytes));
    }
    case 'delete':
      return joined(bytes.subarray(0, from), bytes.subarray(from + change.length));
    case 'repeat': {
      const span = bytes.subarray(from, from + change.length);
      return joined(bytes.subarray(0, from), ...new Array<Buffer>(change.times).fill(span), bytes.subarray(from));
    }
    case 'move': {
      const span = bytes.subarray(from, from + change.length);
      const rest = joined(bytes.subarray(0, from), bytes.subarray(from + change.length));
      const to = position(change.to, rest.length);
      return joined(rest.subarray(0, to), span, rest.subarray(to));
    }
    case 'insert':
      return joined(bytes.subarray(0, from), Buffer.from(change.token), bytes.subarray(from));
    case 'cut':
      return bytes.subarray(0, from);
  }
}

/** The entries of a zip container, in their order. */
function readZip(bytes: Buffer): Promise<Map<string, Buffer>> {
  const entries = new Map<string, Buffer>();
  return new Promise((resolve, reject) => {
    fromBuffer(bytes, { lazyEntries: true }, (error, file) => {
      if (error) return reject(error);
      file.on('entry', (entry: { fileName: string }) => {
        file.openReadStream(entry as never, async (failed, stream) => {
          if (failed) return reject(failed);
          const parts: Buffer[] = [];
          for await (const part of stream as AsyncIterable<Buffer>) parts.push(part);
          entries.set(entry.fileName, Buffer.concat(parts));
          file.readEntry();
        });
      });
      file.on('end', () => resolve(entries));
      file.on('error', reject);
      file.readEntry();
    });
  });
}
