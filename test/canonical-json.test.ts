import { execFileSync, spawnSync } from 'node:child_process';
import { createHash, generateKeyPairSync } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { LosslessNumber, parse as parseLossless } from 'lossless-json';
import { jobCallbackSignature } from '../domain/ai-jobs/job-payload.js';
import {
  canonicalJson,
  canonicalJsonOfAny,
  type Json,
  JsonError,
  parseExact,
  tidyCanonicalJson,
} from '../domain/canonical-json.js';
import { pythonWithCryptography } from './support/python.js';

const folder = mkdtempSync(join(tmpdir(), 'canonical-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** Runs a Python program with lines of base64 as input. @returns the lines of its output */
function python(program: string, lines: readonly string[], args: string[] = []): string[] {
  const { status, stdout, stderr } = spawnSync(pythonWithCryptography(), ['-c', program, ...args], {
    input: lines.join('\n'),
    encoding: 'utf8',
    maxBuffer: 256 * 1024 * 1024,
  });
  if (status !== 0) throw new Error(stderr);
  return stdout.trimEnd().split('\n');
}

/** A receiver in Python that rebuilds the canonical text from the parsed body. */
const REBUILD = `
import base64, json, sys
for line in sys.stdin:
    text = base64.b64decode(line).decode('utf-8')
    rebuilt = json.dumps(json.loads(text), sort_keys=True, indent=2, ensure_ascii=False)
    print(base64.b64encode(rebuilt.encode('utf-8')).decode())
`;

/** Verifies signatures as specified, with the received body and with the body parsed and written again. */
const VERIFY = `
import base64, hashlib, json, sys
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import padding
key = serialization.load_pem_public_key(open(sys.argv[1], 'rb').read())
for line in sys.stdin:
    body, signature = line.split()
    body = base64.b64decode(body)
    rebuilt = json.dumps(json.loads(body), sort_keys=True, indent=2, ensure_ascii=False).encode('utf-8')
    for text in (body, rebuilt):
        digest = hashlib.sha256(text).hexdigest().encode('utf-8')
        key.verify(bytes.fromhex(signature), digest, padding.PKCS1v15(), hashes.SHA256())
    print('verified')
`;

/** Parses JSON; 0 and -0 count as equal. */
const read = (json: string): unknown => JSON.parse(json, (_name, value) => (value === 0 ? 0 : value));

const base64 = (text: string) => Buffer.from(text, 'utf8').toString('base64');

/** Characters that are escaped, sorted or encoded in unusual ways. */
const nasty = fc.constantFrom('\u0000', '\u001f', '"', '\\', '/', '\u007f', '\u0085', '\u2028', '\ufeff', '\uffff', 'é', 'e\u0301', 'ß', '漢', '👩‍👩‍👧', '\u{10000}', '\u{10ffff}', '<', '&'); // biome-ignore format: a list
const text = fc.oneof(
  fc.string({ unit: 'binary' }),
  fc.array(nasty).map((parts) => parts.join('')),
);
/** Numbers as clients write them. */
const writtenNumber = fc
  .tuple(fc.constantFrom('', '-'), fc.bigInt({ min: 0n, max: 10n ** 30n }), fc.constantFrom('', '.0', '.5', '.10', '.000001234'), fc.constantFrom('', 'e0', 'E5', 'e-7', 'e+16', 'e-320')) // biome-ignore format: a list
  .map((parts) => parts.join(''));
const number = fc.oneof(
  fc.integer().map(String),
  fc.double({ noNaN: true, noDefaultInfinity: true }).map(String),
  writtenNumber,
  fc.constantFrom('0', '-0', '0.0', '-0.0', '1e22', '5e-324', '1.7976931348623157e308', '9007199254740993', '123456789012345680000', '0.1', '1e-5', '0.0001', '1e16', '9999999999999998.0'), // biome-ignore format: a list
);
/** JSON as clients write it, with any key order and spacing. */
const { json } = fc.letrec<{ json: string }>((tie) => ({
  json: fc.oneof(
    { maxDepth: 4, withCrossShrink: true },
    fc.constantFrom('null', 'true', 'false', '{}', '[]', '""'),
    number,
    text.map((value) => JSON.stringify(value)),
    fc.array(tie('json'), { maxLength: 5 }).map((items) => `[${items.join(' , ')}]`),
    fc
      .uniqueArray(fc.tuple(text, tie('json')), { maxLength: 6, selector: ([name]) => name })
      .map((entries) => `{${entries.map(([name, value]) => `${JSON.stringify(name)} :${value}`).join(',')}}`),
  ),
}));

/** A document with one character replaced or removed: most are not JSON. */
const edited = fc
  .tuple(json, fc.nat(), fc.constantFrom('', ',', ':', '"', '\\', '{', '}', '[', ']', '-', '.', 'e', '0', ' ', '\t', '\u00a0')) // biome-ignore format: a list
  .map(([sample, place, character]) => {
    const at = place % sample.length;
    return sample.slice(0, at) + character + sample.slice(at + 1);
  });

/** What `lossless-json` reads, slowly; undefined for text that is not JSON. */
function readLossless(sample: string): unknown {
  try {
    return parseLossless(sample, undefined, (number) => new LosslessNumber(number));
  } catch {
    return undefined;
  }
}

describe('exact JSON', () => {
  test.each<[string, fc.Arbitrary<string>]>([
    ['any JSON', json],
    ['text that is almost JSON', edited],
  ])('%s is read as by lossless-json, each number as it is written', (_what, samples) => {
    fc.assert(
      fc.property(samples, (sample) => {
        const expected = readLossless(sample);
        // An edit may repeat a name, and lossless-json accepts one that is repeated with its value.
        if (expected === undefined) expect(() => parseExact(sample)).toThrow(JsonError);
        else expect(readUnlessRepeated(sample, expected)).toEqual(expected);
      }),
      { numRuns: 1_000 },
    );
  });

  test('keeps numbers as they are written, at the root and in every depth', () => {
    expect(parseExact('-0.10')).toEqual(new LosslessNumber('-0.10'));
    expect(parseExact('{"1":[1.0,{"":[1E5,12345678901234567890]}],"0":1e400}')).toEqual({
      '0': new LosslessNumber('1e400'),
      '1': [new LosslessNumber('1.0'), { '': [new LosslessNumber('1E5'), new LosslessNumber('12345678901234567890')] }],
    });
  });

  test.each([
    '{"a":1,"a":2}',
    '{"a":1,"a":1}',
    '{"a":{},"a":{}}',
    '{"a":[],"a":1}',
    '{"a":1,"a":{"b":[]}}',
    '{"a":"","b":null,"\\u0061":""}',
    '[[],{"x":[{"":[{}],"":[{}]}]}]',
    '{"__proto__":1,"__proto__":1}',
    '{"a":"{\\"[,","a":"{\\"[,"}',
  ])('an object has no name twice: %s', (sample) => {
    expect(() => parseExact(sample)).toThrow(JsonError);
  });
});

function readUnlessRepeated(sample: string, repeated: unknown): unknown {
  try {
    return parseExact(sample);
  } catch (error) {
    if ((error as Error).message.includes('same name twice')) return repeated;
    throw error;
  }
}

describe('canonical JSON', () => {
  test('is what Python writes for the parsed body, for any JSON', () => {
    const samples = fc.sample(json, 1_000);
    const ours = samples.map((sample) => base64(canonicalJson(parseExact(sample))));
    expect(python(REBUILD, samples.map(base64))).toEqual(ours);
    // The canonical text does not change when it is parsed and written again.
    expect(python(REBUILD, ours)).toEqual(ours);
  });

  test('keeps the value of every number and text', () => {
    fc.assert(
      fc.property(json, (sample) => {
        expect(read(canonicalJson(parseExact(sample)))).toEqual(read(sample));
      }),
    );
  });

  test.each<[unknown, string]>([
    [{}, '{}'],
    [{ b: [], a: {} }, '{\n  "a": {},\n  "b": []\n}'],
    [{ '\u{10000}': 1, '\uffff': 2 }, '{\n  "\uffff": 2,\n  "\u{10000}": 1\n}'],
    [[1, 0.5, -0, 1e21, 1e-7, 123456789], '[\n  1,\n  0.5,\n  0,\n  1e+21,\n  1e-07,\n  123456789\n]'],
    ['\u0001\u007f\u2028"\\/é', '"\\u0001\u007f\u2028\\"\\\\/é"'],
  ])('writes %j', (value, expected) => {
    expect(canonicalJson(value as Json)).toBe(expected);
  });

  test.each([
    ['half a surrogate pair', '"\\ud800"'],
    ['half a surrogate pair as a name', '{"\\udc00": 1}'],
    ['a number beyond all floats', '1e400'],
    ['an integer of too many digits', '1'.repeat(5_000)],
    ['nesting that Python does not read', `${'['.repeat(500)}${']'.repeat(500)}`],
  ])('rejects %s', (_what, sample) => {
    expect(() => canonicalJson(parseExact(sample))).toThrow(JsonError);
  });

  test.each(['{"a":1,"a":2}', '[1,]', "{'a':1}", '', 'NaN', `${'['.repeat(100_000)}`])(
    'invalid JSON is rejected: %#',
    (sample) => {
      expect(() => parseExact(sample)).toThrow(JsonError);
    },
  );

  test('writing stops at the maximum length, before the rest of the value is read', () => {
    const value = ['x'.repeat(1_000), 'half a pair: \ud800'];
    expect(() => canonicalJson(value, 500)).toThrow('must not exceed 500 characters');
    expect(() => canonicalJson(value, 5_000)).toThrow('surrogate');
  });

  test('names such as __proto__ have no special meaning', () => {
    const sample = '{\n  "__proto__": {\n    "x": 1\n  },\n  "constructor": 2\n}';
    expect(canonicalJson(parseExact(sample))).toBe(sample);
    expect(canonicalJsonOfAny(JSON.parse(sample))).toBe(sample);
  });

  test('responses of third parties are changed so that they can be written', () => {
    let deep: unknown = 'bottom';
    for (let level = 0; level < 500; level++) deep = [deep];
    const written = canonicalJsonOfAny({ a: '\ud800x', b: Number.NaN, c: undefined, '\udfff': 1, deep });
    expect(JSON.parse(written)).toMatchObject({ a: '\ufffdx', b: null, '\ufffd': 1 });
    expect(written).not.toContain('bottom');
  });
});

describe('results of third parties, written in slices', () => {
  test('have the text that writing at once gives', async () => {
    const strange = {
      date: new Date(0),
      big: 12n,
      none: undefined,
      call: () => 1,
      list: [undefined, Number.NaN, '\udc00'],
    };
    const values = [...fc.sample(fc.object({ withBigInt: true, withDate: true }), 200), strange, null, 'x', [], {}];
    for (const value of values) {
      expect(await tidyCanonicalJson(value, Number.POSITIVE_INFINITY)).toBe(canonicalJsonOfAny(value));
    }
    expect(JSON.parse(canonicalJsonOfAny(strange))).toEqual({
      ...{ date: '1970-01-01T00:00:00.000Z', big: '12', list: [null, null, '\ufffd'] },
    });
  });

  test('stop at the maximum length, and let other work run in between', async () => {
    await expect(tidyCanonicalJson(['x'.repeat(1_000)], 500)).rejects.toThrow('must not exceed 500 characters');
    let turns = 0;
    const count = setInterval(() => turns++, 0);
    await tidyCanonicalJson(
      Array.from({ length: 300_000 }, (_, n) => ({ n, text: `cell ${n}` })),
      1e9,
    );
    clearInterval(count);
    expect(turns).toBeGreaterThan(3);
  });
});

describe('signatures of job callbacks', () => {
  const { privateKey, publicKey } = generateKeyPairSync('rsa', { modulusLength: 3072 });
  const keyFile = join(folder, 'public-key.pem');
  writeFileSync(keyFile, publicKey.export({ type: 'spki', format: 'pem' }));
  const bodies = fc.sample(json, 300).map((sample) => canonicalJson(parseExact(`{"user_parameters":${sample}}`)));

  test("are valid for Python's cryptography, with the raw body and with a rebuilt body", () => {
    const lines = bodies.map((body) => `${base64(body)} ${jobCallbackSignature(Buffer.from(body), privateKey)}`);
    expect(python(VERIFY, lines, [keyFile])).toEqual(bodies.map(() => 'verified'));
  });

  test('are valid for OpenSSL', () => {
    for (const [n, body] of bodies.slice(0, 10).entries()) {
      const [digest, signature] = [join(folder, `${n}.digest`), join(folder, `${n}.signature`)];
      writeFileSync(digest, createHash('sha256').update(body).digest('hex'));
      writeFileSync(signature, Buffer.from(jobCallbackSignature(Buffer.from(body), privateKey), 'hex'));
      const verify = ['dgst', '-sha256', '-verify', keyFile, '-signature', signature, digest];
      expect(execFileSync('openssl', verify, { encoding: 'utf8' })).toContain('Verified OK');
    }
  });
});
