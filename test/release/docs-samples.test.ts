import { execFile, spawnSync } from 'node:child_process';
import { cpSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import type { CodeSample } from '../../api/code-samples.js';
import { compileTypescript, withPackages } from '../support/docs-packages.js';
import { receiverDuringTests } from '../support/during-tests.js';
import { makeKey, OPERATOR_TOKEN, sharedProduct } from '../support/product.js';
import { pythonEnvironmentWith } from '../support/python.js';

interface Sampled {
  operationId: string;
  'x-codeSamples': CodeSample[];
}

/** Samples name records that need not exist; everything else about the request must be right. */
const MISSING = [404, 409];
/** An example cannot have the secret of an authentication. */
const SECRET = 'submitEligibilityCheck';

describe('the samples of the API document', () => {
  const { apiUrl, mongodbUri } = sharedProduct();
  const folder = mkdtempSync(join(tmpdir(), 'postback-samples-'));
  const environment: Record<string, string> = { POSTBACK_URL: apiUrl, POSTBACK_OPERATOR_TOKEN: OPERATOR_TOKEN };
  let operations: Sampled[];
  const receiver = receiverDuringTests();
  beforeAll(async () => {
    const document = (await (await fetch(`${apiUrl}/openapi.json`)).json()) as { paths: Record<string, object> };
    operations = Object.values(document.paths).flatMap((methods) => Object.values(methods) as Sampled[]);
    const kinds = {
      POSTBACK_KEY: 'api',
      POSTBACK_CREW_KEY: 'crew_org',
      POSTBACK_PAYMENT_KEY: 'payment_secret',
    } as const;
    for (const [name, kind] of Object.entries(kinds)) {
      environment[name] = (await makeKey(mongodbUri, 'samples', kind)).key;
    }
    cpSync('examples/lighthouse-history.pdf', join(folder, 'handbook.pdf'));
  });
  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  const samplesOf = (lang: CodeSample['lang']) =>
    operations.map(({ operationId, 'x-codeSamples': samples }) => ({
      operationId,
      source: samples.find((sample) => sample.lang === lang)!.source.replaceAll('https://example.com', receiver.url),
    }));

  test('each operation has one for curl, TypeScript and Python, with a value for everything', () => {
    expect(operations.length).toBeGreaterThan(75);
    for (const { operationId, 'x-codeSamples': samples } of operations) {
      expect([operationId, samples.map(({ label }) => label)]).toEqual([operationId, ['curl', 'TypeScript', 'Python']]);
      for (const { source } of samples) expect(source).not.toMatch(/undefined|\[object|\/id\b(?!_)/);
    }
  });

  test('those for curl send requests that the API understands', async () => {
    // Without this header, a stream of events ends by itself.
    const STREAM = ' \\\n  -H "Accept: text/event-stream"';
    const commands = samplesOf('Shell').map(({ operationId, source }) => {
      return `echo; echo '### ${operationId}'\n${source.replace(STREAM, '')}`;
    });
    const script = `${CURL}\n${commands.join('\n')}\ntrue`;
    writeFileSync(join(folder, 'samples.sh'), script);
    const env = { ...process.env, ...environment };
    const options = { cwd: folder, env, maxBuffer: 64 * 1024 * 1024 };
    const { stdout } = await promisify(execFile)('bash', ['samples.sh'], options);
    const statuses = stdout
      .split('### ')
      .slice(1)
      .map((text) => [text.split('\n', 1)[0]!, Number(text.trim().split('\n').at(-1)), text] as const);
    expect(statuses.length).toBe(operations.length);
    expectUnderstood(statuses);
  });

  test('those for Python send requests that the API understands', () => {
    const env = pythonEnvironmentWith('requests');
    if (env === null) {
      console.warn('skipped: the samples for Python need python3 with its package requests');
      return;
    }
    writeFileSync(join(folder, 'samples.json'), JSON.stringify(samplesOf('Python')));
    writeFileSync(join(folder, 'samples.py'), RUN_PYTHON);
    const run = spawnSync('python3', ['samples.py'], { cwd: folder, env: { ...env, ...environment } });
    expect(String(run.stderr)).toBe('');
    const statuses = JSON.parse(String(run.stdout)) as [string, number, string][];
    expect(statuses.length).toBe(operations.length);
    expectUnderstood(statuses);
  });

  test('those for TypeScript compile with the types of the client', async () => {
    withPackages(folder);
    const files = samplesOf('TypeScript').map(({ operationId, source }) => {
      writeFileSync(join(folder, `${operationId}.ts`), `${source}\nexport {};\n`);
      return `${operationId}.ts`;
    });
    await compileTypescript(folder, files);
  });
});

function expectUnderstood(statuses: readonly (readonly [operation: string, status: number, text: string])[]): void {
  const isUnderstood = (operation: string, status: number) =>
    (status >= 200 && status < 300) || MISSING.includes(status) || (operation === SECRET && status === 401);
  const wrong = statuses.filter(([operation, status]) => !isUnderstood(operation, status));
  expect(wrong).toEqual([]);
  expect(statuses.filter(([, status]) => status < 300).length).toBeGreaterThan(30);
}

/** Prints the status after each response. */
const CURL = `curl() { command curl -sS -w '\\n%{http_code}' "$@" 2>> errors; }`;

/** Runs each sample until it prints or fails, and prints the status of its response. */
const RUN_PYTHON = `
import builtins, json, requests

class Printed(Exception):
    pass

def stop(*values):
    raise Printed()

results = []
last = {}
send = requests.Session.send

def sending(self, request, **options):
    last["response"] = send(self, request, **options)
    return last["response"]

requests.Session.send = sending
for sample in json.load(open("samples.json")):
    try:
        exec(sample["source"], {"print": stop})
    except (Printed, requests.HTTPError):
        pass
    response = last.pop("response")
    text = "" if response.ok else response.text
    results.append([sample["operationId"], response.status_code, text])
print(json.dumps(results))
`;
