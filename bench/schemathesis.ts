import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { KeyKind } from '../domain/api-keys.js';
import { PYPI_VERSIONS, pythonEnvironmentWith } from '../test/support/python.js';
import { startBenchInstance } from './support/instance.js';
import { createDatabase } from './support/work.js';

/** Paths that are left out, and why. */
const LEFT_OUT: Readonly<Record<string, string>> = {
  '/events': 'a stream without end',
};

/**
 * What is checked of each response. `positive_data_acceptance` is not: a body that fits the schema may name an address that is
 * not allowed, or an item that does not exist.
 */
const CHECKS = [
  'not_a_server_error',
  'status_code_conformance',
  'content_type_conformance',
  'response_headers_conformance',
  'response_schema_conformance',
  'negative_data_rejection',
  'missing_required_header',
  'unsupported_method',
  'allow_header_conformance',
  'ignored_auth',
];

/** The name in the document's examples. */
const DATABASE = 'library';

/**
 * Operations for which the keys cannot succeed. Any other operation that never gets past its authentication fails the run,
 * because nothing else of it was compared.
 */
const NEVER_ACCEPTED = [
  // Needs a browser's kind of key, and the secret of an authentication.
  'POST /authentication/{id}/eligibility-check',
  // 404 without a secret to delete: then 401, in the requests that have no key on purpose, is all that is counted.
  'DELETE /webhooks/indexing/signing-secret',
  // 403 for deliveries of crews, which need a crew's key and are those that it finds.
  'POST /deliveries/{delivery_id}/retry',
];

/** Parameters with a fixed value. A key of the run, found in the list, would be revoked. */
const FIXED: [operation: string, parameter: string, value: string][] = [
  ['DELETE /keys/{key_id}', 'path.key_id', 'key_01kahqv5f2m8x3d7c9w1n4b6zt'],
];

/** How long a response may take. */
const REQUEST_SECONDS = 30;

export interface SchemathesisOptions {
  apiUrl: string;
  createKey: (kind: KeyKind) => Promise<string>;
  operatorToken: string;
  seed: number;
  /** `examples` and `coverage` are systematic, `fuzzing` is random. */
  phases: string;
  /** Random requests of each operation. */
  maxExamples?: number;
  /** Random requests go on for as long. */
  maxSeconds?: number;
  /** Called with each part of the report. */
  print?: (text: string) => void;
}

/** The environment in which Schemathesis runs; null where Python or the package is missing. */
export function schemathesisEnvironment(): NodeJS.ProcessEnv | null {
  return pythonEnvironmentWith('schemathesis', { withDependencies: true });
}

/**
 * Sends requests that Schemathesis derives from `/openapi.json`, valid and invalid ones, and compares each response with it.
 * @param env from `schemathesisEnvironment`
 * @returns its exit code, which is 0 without a mismatch, and its report
 */
export async function runSchemathesis(
  env: NodeJS.ProcessEnv,
  {
    apiUrl,
    createKey,
    operatorToken,
    seed,
    phases,
    maxExamples = 1,
    maxSeconds,
    print = () => undefined,
  }: SchemathesisOptions,
): Promise<{ code: number | null; report: string }> {
  const folder = mkdtempSync(join(tmpdir(), 'postback-schemathesis-'));
  try {
    const keys = {
      operator: operatorToken,
      api: await createKey('api'),
      crew: await createKey('crew_org'),
      payment: await createKey('payment_secret'),
    };
    await createDatabase({ apiUrl, key: keys.api }, DATABASE);
    const config = join(folder, 'schemathesis.toml');
    writeFileSync(config, configuration(keys), { mode: 0o600 });
    const args = [
      ...['--config-file', config, 'run', `${apiUrl}/openapi.json`, '--no-color', '--seed', String(seed)],
      ...['--phases', phases, '--max-examples', String(maxExamples), '--generation-database', 'none'],
      ...['--checks', CHECKS.join()],
      ...(maxSeconds === undefined ? [] : ['--max-time', String(maxSeconds)]),
      ...['--header', 'API-Version: 2', '--request-timeout', String(REQUEST_SECONDS), '--no-shrink'],
      ...Object.keys(LEFT_OUT).flatMap((path) => ['--exclude-path', path]),
    ];
    const child = spawn('python3', ['-c', 'from schemathesis.cli import schemathesis; schemathesis()', ...args], {
      cwd: folder,
      env,
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    let report = '';
    for (const stream of [child.stdout, child.stderr]) {
      stream.setEncoding('utf8').on('data', (text: string) => {
        report += text;
        print(text);
      });
    }
    const code = await new Promise<number | null>((resolve, reject) => {
      child.once('error', reject);
      child.once('close', resolve);
    });
    return { code, report };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Each security scheme of the document gets a key of its kind. @returns TOML */
function configuration({
  api,
  crew,
  payment,
  operator,
}: Record<'api' | 'crew' | 'payment' | 'operator', string>): string {
  const schemes = {
    api_key: `bearer = "${api}"`,
    organisation_key: `bearer = "${api}"`,
    crew_key: `bearer = "${crew}"`,
    payment_key: `api_key = "${payment}"`,
    // The token of no link.
    review_token: `bearer = "none"`,
    operator_token: `bearer = "${operator}"`,
  };
  return [
    '[warnings]\nfail-on = ["missing_auth"]\n',
    ...Object.entries(schemes).map(([name, value]) => `[auth.openapi.${name}]\n${value}\n`),
    ...NEVER_ACCEPTED.map((name) => `[[operations]]\ninclude-name = "${name}"\nwarnings = false\n`),
    ...FIXED.map(
      ([name, parameter, value]) =>
        `[[operations]]\ninclude-name = "${name}"\nparameters = { "${parameter}" = "${value}" }\n`,
    ),
  ].join('\n');
}

/** `npm run bench -- schemathesis [<minutes>]`: all phases, with random requests. @throws Error for a mismatch */
export async function schemathesis(argument = '10'): Promise<void> {
  const env = schemathesisEnvironment();
  if (!env)
    throw new Error(
      `Schemathesis needs Python 3 and its package: pip install schemathesis==${PYPI_VERSIONS.schemathesis}`,
    );
  const seed = Number(process.env.FUZZ_SEED ?? Date.now() % 2 ** 31);
  console.log(`seed ${seed} (repeat it with FUZZ_SEED=${seed})`);
  const operatorToken = randomBytes(24).toString('hex');
  const instance = await startBenchInstance({
    POSTBACK_FAILED_LOGINS_PER_MINUTE: '0',
    POSTBACK_PUBLISHABLE_REQUESTS_PER_MINUTE: '0',
    POSTBACK_AUTHENTICATION_REQUESTS_PER_MINUTE: '100000',
    POSTBACK_OPERATOR_TOKEN: operatorToken,
  });
  try {
    const { code } = await runSchemathesis(env, {
      ...instance,
      operatorToken,
      seed,
      phases: 'examples,coverage,fuzzing',
      maxExamples: 50,
      maxSeconds: Number(argument) * 60,
      print: (text) => process.stdout.write(text),
    });
    if (code !== 0) throw new Error('responses differ from /openapi.json');
  } finally {
    await instance.stop();
  }
}
