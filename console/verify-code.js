/** @typedef {import('./api.js').Schemas['SentRequest']} SentRequest */
/** @typedef {'typescript' | 'python'} Language */

/** Headers that the samples verify, in the order in which they are printed. */
const SIGNED = ['webhook-id', 'webhook-timestamp', 'webhook-signature', 'X-Service-Key-Id', 'X-Service-Signature'];

/** How a request is signed: with the signing secret, with the RSA key of AI jobs, or not. @param {SentRequest} request */
export function signatureOf({ headers }) {
  if (headers['webhook-signature']) return 'secret';
  return headers['X-Service-Key-Id'] ? 'key' : 'none';
}

/**
 * A program that verifies one request. It takes the secret, or the public key, from the environment.
 * @param {Language} language
 * @param {SentRequest} request that is signed
 * @returns {string}
 */
export function verifyingCode(language, request) {
  const isRsa = signatureOf(request) === 'key';
  if (language === 'python') return isRsa ? pythonWithKey(request) : pythonWithSecret(request);
  return isRsa ? typescriptWithKey(request) : typescriptWithSecret(request);
}

// JSON texts are strings of both languages.

/** @param {SentRequest} request */
const typescriptWithSecret = ({ headers, body }) => `// verify.ts: SIGNING_SECRET=… node verify.ts
import { createHmac, timingSafeEqual } from 'node:crypto';

const secret = process.env.SIGNING_SECRET ?? '';
const headers = ${literal(headers)};
// The raw body, before it is parsed.
const body = ${JSON.stringify(body)};

// The key is the part after whsec_, decoded. A secret that is not base64 is the key itself.
const digits = /^(?:whsec_)?([A-Za-z0-9+/]+)={0,2}$/.exec(secret)?.[1];
const key =
  digits !== undefined && digits.length % 4 !== 1 ? Buffer.from(digits, 'base64') : Buffer.from(secret);
const signed = \`\${headers['webhook-id']}.\${headers['webhook-timestamp']}.\${body}\`;
const expected = Buffer.from(\`v1,\${createHmac('sha256', key).update(signed).digest('base64')}\`);
// A receiver also rejects a webhook-timestamp that is more than five minutes away from its clock.
const isGenuine = headers['webhook-signature'].split(' ').some((each) => {
  const received = Buffer.from(each);
  return received.length === expected.length && timingSafeEqual(received, expected);
});
console.log(isGenuine ? 'The signature is valid.' : 'The signature is not valid.');
process.exitCode = isGenuine ? 0 : 1;
`;

/** @param {SentRequest} request */
const pythonWithSecret = ({ headers, body }) => `# verify.py: SIGNING_SECRET=… python3 verify.py
import base64
import hashlib
import hmac
import os
import re
import sys

secret = os.environ["SIGNING_SECRET"]
headers = ${literal(headers)}
# The raw body, before it is parsed.
body = ${JSON.stringify(body)}.encode()

# The key is the part after whsec_, decoded. A secret that is not base64 is the key itself.
found = re.fullmatch(r"(?:whsec_)?([A-Za-z0-9+/]+)={0,2}", secret)
digits = found.group(1) if found and len(found.group(1)) % 4 != 1 else None
key = base64.b64decode(digits + "=" * (-len(digits) % 4)) if digits else secret.encode()
signed = f"{headers['webhook-id']}.{headers['webhook-timestamp']}.".encode() + body
expected = "v1," + base64.b64encode(hmac.new(key, signed, hashlib.sha256).digest()).decode()
# A receiver also rejects a webhook-timestamp that is more than five minutes away from its clock.
is_genuine = any(hmac.compare_digest(expected, each) for each in headers["webhook-signature"].split(" "))
print("The signature is valid." if is_genuine else "The signature is not valid.")
sys.exit(0 if is_genuine else 1)
`;

/** @param {SentRequest} request */
const typescriptWithKey = ({ headers, body }) => `// verify.ts: PUBLIC_KEY="$(cat key.pem)" node verify.ts
// key.pem: GET /v3/ai/webhook-public-key?key_id=${headers['X-Service-Key-Id']}
import { createHash, verify } from 'node:crypto';

const headers = ${literal(headers)};
// The raw body, before it is parsed.
const body = ${JSON.stringify(body)};

const digest = createHash('sha256').update(body).digest('hex');
const signature = Buffer.from(headers['X-Service-Signature'], 'hex');
const isGenuine = verify('sha256', Buffer.from(digest), process.env.PUBLIC_KEY ?? '', signature);
console.log(isGenuine ? 'The signature is valid.' : 'The signature is not valid.');
process.exitCode = isGenuine ? 0 : 1;
`;

/** @param {SentRequest} request */
const pythonWithKey = ({
  headers,
  body,
}) => `# verify.py: pip install cryptography; PUBLIC_KEY="$(cat key.pem)" python3 verify.py
# key.pem: GET /v3/ai/webhook-public-key?key_id=${headers['X-Service-Key-Id']}
import hashlib
import os
import sys

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.padding import PKCS1v15
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import load_pem_public_key

headers = ${literal(headers)}
# The raw body, before it is parsed.
body = ${JSON.stringify(body)}.encode()

key = load_pem_public_key(os.environ["PUBLIC_KEY"].encode())
digest = hashlib.sha256(body).hexdigest()
try:
    key.verify(bytes.fromhex(headers["X-Service-Signature"]), digest.encode(), PKCS1v15(), SHA256())
except InvalidSignature:
    sys.exit("The signature is not valid.")
print("The signature is valid.")
`;

/** The signed headers as a literal of both languages. @param {Record<string, string>} headers */
function literal(headers) {
  const lines = SIGNED.filter((name) => headers[name] !== undefined).map(
    (name) => `  ${JSON.stringify(name)}: ${JSON.stringify(headers[name])},`,
  );
  return `{\n${lines.join('\n')}\n}`;
}
