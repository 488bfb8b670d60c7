import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { stripVTControlCharacters } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { welcome } from '../../cli/welcome.js';
import { readConfig } from '../../runtime/config.js';
import { blocksOf, reasonNotToRun } from '../support/docs-blocks.js';
import { PATIENCE_MS } from '../support/eventually.js';
import { nodeProgram } from '../support/node-versions.js';
import { outputOf } from '../support/output.js';
import { makeKey, sharedProduct } from '../support/product.js';

/** The oldest and the newest Node.js that docs/installation.md names, and the rest of their versions. */
const VERSIONS = [
  { named: / (\d+\.\d+) is the oldest/, version: '22.19.0' },
  { named: / (\d+) works too/, version: '26.10.0' },
];
/** So many files that an open one kept a process alive on some versions. */
const FILES = 30;

/**
 * What `npm start` and the README print, as printed, in a shell. A process that keeps running after its result is killed in the
 * end, which fails the test.
 */
describe('printed commands succeed and end', () => {
  const { apiUrl, mongodbUri, temporalAddress, dataDir } = sharedProduct();
  const folder = mkdtempSync(join(tmpdir(), 'postback-printed-'));
  const many = join(folder, 'many');
  beforeAll(() => {
    mkdirSync(many);
    for (let n = 0; n < FILES; n += 1) writeFileSync(join(many, `${n}.txt`), `The lamp number ${n} is lit at dusk.`);
  });
  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  const keyOf = async (org: string, kind: 'api' | 'crew_org') => (await makeKey(mongodbUri, org, kind)).key;

  /** Runs lines in this repository, as a new organisation, until all of their processes have ended. */
  async function runLines(node: string, org: string, lines: (keys: Record<'api' | 'crew_org', string>) => string) {
    const keys = { api: await keyOf(org, 'api'), crew_org: await keyOf(org, 'crew_org') };
    const child = spawn('bash', ['-e', '-o', 'pipefail', '-c', lines(keys)], {
      env: {
        ...process.env,
        PATH: `${dirname(node)}${delimiter}${process.env.PATH}`,
        NODE_OPTIONS: '',
        POSTBACK_URL: apiUrl,
        POSTBACK_API_KEY: Object.values(keys).join(),
        POSTBACK_DATA_DIR: dataDir,
        MONGODB_URI: mongodbUri,
        TEMPORAL_ADDRESS: temporalAddress,
        XDG_CONFIG_HOME: join(folder, org),
      },
      detached: true,
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    const output = outputOf(child);
    const deadline = setTimeout(() => process.kill(-child.pid!, 'SIGKILL'), PATIENCE_MS);
    const [code, signal] = await once(child, 'close');
    clearTimeout(deadline);
    expect({ code, signal, ...output }).toMatchObject({ code: 0, signal: null });
    return output.out;
  }

  function ofWelcome(keys: Record<'api' | 'crew_org', string>): string {
    const file = { api_url: apiUrl, temporal_ui_url: null, temporal_address: '', mongodb_uri: '', keys: keys as never };
    const message = stripVTControlCharacters(welcome(file, null, readConfig({})));
    return /in another terminal\n([\s\S]*)\n\n/.exec(message)![1]!;
  }

  function ofReadme(org: string): string {
    const blocks = blocksOf('README.md').filter((block) => block.language === 'sh' && !reasonNotToRun(block));
    const lines = blocks.map(({ code }) => code).join('\n');
    return lines.replaceAll('--org acme', `--org ${org}`).replaceAll('http://127.0.0.1:8080', apiUrl);
  }

  test.each(VERSIONS)('on Node.js $version', async ({ named, version }) => {
    expect(`${version}.`).toContain(`${named.exec(readFileSync('docs/installation.md', 'utf8'))![1]}.`);
    const node = await nodeProgram(version);
    if (node === null) {
      console.warn(`skipped: Node.js ${version} could not be fetched from the package registry`);
      return;
    }
    const org = `printed-${version.replaceAll('.', '-')}`;
    const [, , ingested] = await Promise.all([
      runLines(node, `${org}-welcome`, ofWelcome),
      runLines(node, `${org}-readme`, () => ofReadme(`${org}-readme`)),
      runLines(
        node,
        `${org}-many`,
        () => `./postback databases create many\n./postback ingest ${many} --database many --watch`,
      ),
    ]);
    expect(ingested).toContain(`${FILES} completed`);
  });
});
