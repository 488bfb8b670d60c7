import { execFile, spawnSync } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { parse as parseYaml } from 'yaml';
import { AI_FEATURES } from '../../domain/ai-jobs/features.js';
import { loadCrews } from '../../providers/crews/load-crews.js';
import { problemsOf } from '../support/command-lines.js';
import { createChecker, createSchemaChecker } from '../support/conformance.js';
import { blocksOf, type DocsBlock, docsPages, reasonNotToRun } from '../support/docs-blocks.js';
import { compileTypescript, withPackages } from '../support/docs-packages.js';
import { BLOCK_BEGINS, createDocsShell } from '../support/docs-shell.js';
import { receiverDuringTests } from '../support/during-tests.js';
import { makeKey, OPERATOR_TOKEN, sharedProduct } from '../support/product.js';
import { pythonEnvironmentWith } from '../support/python.js';

// biome-ignore lint/suspicious/noExplicitAny: the document is read at many depths
type Document = any;

/** Text that is no code: output, drawings, trees of folders. */
const TEXT = 'text';
const KINDS = ['sh', 'ts', 'js', 'python', 'go', 'json', 'yaml', TEXT];

/** Code that readers save to a file of this name, and that this test runs. */
const RECIPES = 'test/release/receiver-recipes.test.ts';

const blocks = docsPages().flatMap(blocksOf);
const ran = blocks.filter((block) => reasonNotToRun(block) === undefined);
const at = ({ page, line }: DocsBlock) => `${page}:${line}`;

describe('the code blocks of the README and of docs/', () => {
  const { apiUrl, mongodbUri, temporalAddress, dataDir } = sharedProduct();
  const work = mkdtempSync(join(tmpdir(), 'postback-docs-'));
  const settings = { MONGODB_URI: mongodbUri, TEMPORAL_ADDRESS: temporalAddress, POSTBACK_DATA_DIR: dataDir };
  let document: Document;
  let shell: Awaited<ReturnType<typeof createDocsShell>>;
  const receiver = receiverDuringTests();
  beforeAll(async () => {
    document = await (await fetch(`${apiUrl}/openapi.json`)).json();
    shell = await createDocsShell(work, { ...settings, XDG_CONFIG_HOME: join(work, 'config') });
  });
  afterAll(async () => {
    await shell.close();
    rmSync(work, { recursive: true, force: true });
  });

  test('each has a language, and runs or says why not', () => {
    expect(blocks.length).toBeGreaterThan(60);
    for (const block of blocks) {
      expect([at(block), KINDS]).toEqual([at(block), expect.arrayContaining([block.language])]);
      // A comment names the tests that run the commands elsewhere.
      for (const [file] of (reasonNotToRun(block) ?? '').matchAll(/test\/[\w/.-]+\.ts/g)) {
        expect([at(block), file, existsSync(file)]).toEqual([at(block), file, true]);
      }
    }
    const notRun = blocks.filter((block) => !ran.includes(block));
    // More of them need a reason that convinces a reader of this line.
    expect(notRun.length).toBeLessThanOrEqual(16);
    expect(ran.filter(({ language }) => language === TEXT).length).toBeLessThanOrEqual(7);
  });

  test('recipes are run by the test of receivers', () => {
    const runs = readFileSync(RECIPES, 'utf8');
    const files = ran.flatMap(({ file }) => (file === undefined ? [] : [file]));
    expect(files.length).toBeGreaterThan(8);
    for (const file of files) {
      expect([file, [file, file.replace('.mjs', '')].some((name) => runs.includes(`'${name}'`))]).toEqual([file, true]);
    }
  });

  test('commands that are not run here exist with their options', () => {
    const lines = blocks
      .filter((block) => block.language === 'sh' && reasonNotToRun(block) !== undefined)
      .flatMap((block) => block.code.split('\n').map((line) => ({ block, line: line.replace(/ # .*/, '') })))
      .filter(({ line }) => /^(\.\/)?postback /.test(line) && !/^(\.\/)?postback completion /.test(line));
    expect(lines.length).toBeGreaterThan(15);
    for (const { block, line } of lines) expect([at(block), line, problemsOf(line)]).toEqual([at(block), line, []]);
  });

  test('commands take ids from responses, so a reader copies none', () => {
    const id = /\b[a-z]{3,4}_01[0-9a-z]{20}|\b[0-9a-f]{8}-[0-9a-f]{4}-/;
    const withId = blocks.filter(({ language, code }) => language === 'sh' && id.test(code));
    expect(withId.map(at)).toEqual([]);
  });

  const pages = [...new Set(ran.filter(({ language }) => language === 'sh').map(({ page }) => page))];
  test.each(pages)('the commands of %s succeed, in order', async (page) => {
    const { env, folder } = await reader(page);
    const own = ran.filter((block) => block.page === page);
    const shellBlocks = own.filter(({ language }) => language === 'sh');
    const script = shellBlocks
      .map((block) => `echo '### ${at(block)}'\n${BLOCK_BEGINS}\n${here(block.code)}`)
      .join('\n');
    const needsLibrary = /database=library|"database": "library"/.test(script) && !script.includes('create library');
    const prepared = needsLibrary ? `postback databases create library\n${script}` : script;
    const { code, out, err, variables } = await shell.run(prepared, folder, env);
    expect({ code, err, last: code === 0 ? '' : out.slice(-2_000) }).toEqual({ code: 0, err: '', last: '' });

    for (const block of own.filter(({ language, file }) => language === 'ts' && file === undefined)) {
      await runTypescript(block, folder, variables);
    }
    for (const block of own.filter(({ language, file }) => language === 'python' && file === undefined)) {
      runPython(block, folder, variables);
    }
  });

  test('TypeScript and Python are on pages whose commands prepare their data', () => {
    const others = ran.filter(({ language, file }) => ['ts', 'python'].includes(language) && file === undefined);
    for (const block of others) expect([at(block), pages.includes(block.page)]).toEqual([at(block), true]);
  });

  test('JSON is valid, and is what the API takes and returns', () => {
    const checkResponse = createChecker(document);
    const matches = createSchemaChecker(document);
    const json = ran.filter(({ language }) => language === 'json');
    let checked = 0;
    for (const block of json) {
      const value = parseJson(block);
      const [what = '', ...rest] = (block.note ?? '').split(': ');
      const words = rest.join(': ').split(' ');
      const holds = (path: readonly string[], part: unknown) =>
        expect([at(block), part, matches(path, part)]).toEqual([at(block), part, true]);
      const feature = AI_FEATURES[block.heading as keyof typeof AI_FEATURES];
      if (what === 'response') {
        const [method = '', path = '', status = ''] = words;
        checkResponse(method.toLowerCase(), path, Number(status), value);
      } else if (what === 'webhook') {
        holds(['webhooks', words[0]!, 'post', 'requestBody', 'content', 'application/json', 'schema'], value);
      } else if (what === 'value of') {
        holds(['components', 'schemas', words[0]!, 'properties', words[1]!], value);
      } else if (what === 'part of') {
        for (const [name, part] of Object.entries(value as object)) {
          holds(['components', 'schemas', words[0]!, 'properties', name], part);
        }
      } else if (feature) {
        const isInput = json.find(({ page, heading }) => page === block.page && heading === block.heading) === block;
        const schema = isInput ? feature.input : feature.output;
        expect([at(block), schema.safeParse(value).error?.issues]).toEqual([at(block), undefined]);
      } else continue;
      checked += 1;
    }
    expect(checked).toBeGreaterThan(20);
    // The others are settings of other programs, and of a local model.
    expect(json.length - checked).toBeLessThanOrEqual(3);
  });

  test('YAML is valid, and files of crews make crews', () => {
    const yaml = ran.filter(({ language }) => language === 'yaml');
    const folder = join(work, 'crews');
    for (const { code } of yaml) {
      expect(parseYaml(code)).toEqual(expect.any(Object));
      const file = /^# (crews\/\S+\.yaml)/.exec(code)?.[1];
      if (file === undefined) continue;
      mkdirSync(join(work, dirname(file)), { recursive: true });
      writeFileSync(join(work, file), code);
    }
    const { crews, invalid } = loadCrews(folder);
    expect(invalid.size).toBe(0);
    expect(crews.size).toBeGreaterThan(0);
  });

  test('the script of a payment page submits the check', async () => {
    const org = 'docs-payments-page';
    const [secret, publishable] = await Promise.all([
      makeKey(mongodbUri, org, 'payment_secret'),
      makeKey(mongodbUri, org, 'payment_publishable'),
    ]);
    const created = await fetch(`${apiUrl}/authentication`, {
      method: 'POST',
      headers: { 'api-key': secret.key, 'Content-Type': 'application/json' },
      body: JSON.stringify({ amount: 1250, currency: 'EUR', return_url: 'https://shop.example/return' }),
    });
    const { authentication_id, client_secret } = (await created.json()) as Record<string, string>;
    const scripts = ran.filter(({ language, file }) => language === 'js' && file === undefined);
    expect(scripts.map(({ page }) => page)).toEqual(['docs/payments.md']);
    const page = {
      authenticationId: authentication_id,
      clientSecret: client_secret,
      PUBLISHABLE_KEY: publishable.key,
      sessionId: '4f1c',
      screen: { colorDepth: 24, height: 1080, width: 1920 },
      navigator: { language: 'en', userAgent: 'a browser' },
    };
    const code = scripts[0]!.code.replace('https://postback.example', apiUrl);
    const run = new Function(...Object.keys(page), `return (async () => { ${code}; return sdk_next_action; })();`);
    expect(await run(...Object.values(page))).toBe('await_merchant_callback');
  });

  /** An organisation with keys of each kind, and a folder with the files that the pages name. */
  async function reader(page: string) {
    const name = page.replace(/\W+/g, '-').toLowerCase();
    const kinds = ['api', 'crew_org', 'payment_secret'] as const;
    const [api, crew, payment] = await Promise.all(
      kinds.map(async (kind) => (await makeKey(mongodbUri, `read-${name}`, kind)).key),
    );
    const folder = join(work, name);
    mkdirSync(join(folder, 'notes'), { recursive: true });
    mkdirSync(join(folder, 'minutes', '2026'), { recursive: true });
    symlinkSync(resolve('examples'), join(folder, 'examples'));
    for (const file of ['handbook.pdf', 'scan.pdf']) cpSync('examples/lighthouse-history.pdf', join(folder, file));
    cpSync('examples/lamp-log.csv', join(folder, 'fees.csv'));
    writeFileSync(join(folder, 'notes', 'hours.md'), 'The library opens at nine.');
    writeFileSync(join(folder, 'minutes', '2026', 'march.md'), 'The lamp was cleaned.');
    const env = {
      POSTBACK_URL: apiUrl,
      POSTBACK_KEY: api!,
      POSTBACK_CREW_KEY: crew!,
      POSTBACK_PAYMENT_KEY: payment!,
      POSTBACK_API_KEY: `${api},${crew},${payment}`,
      POSTBACK_OPERATOR_TOKEN: OPERATOR_TOKEN,
      ...settings,
    };
    return { env, folder };
  }

  /** The addresses and the command of this run instead of those of the page. */
  function here(code: string): string {
    return code
      .replaceAll('./postback ', 'postback ')
      .replaceAll('http://127.0.0.1:8080', apiUrl)
      .replaceAll('https://example.com', receiver.url);
  }

  async function runTypescript({ code }: DocsBlock, folder: string, variables: Record<string, string>) {
    withPackages(folder);
    writeFileSync(join(folder, 'block.ts'), here(code));
    await compileTypescript(folder, ['block.ts']);
    await promisify(execFile)(process.execPath, ['block.js'], { cwd: folder, env: { ...process.env, ...variables } });
  }

  function runPython({ code }: DocsBlock, folder: string, variables: Record<string, string>) {
    writeFileSync(join(folder, 'block.py'), here(code));
    const env = pythonEnvironmentWith('requests');
    if (env === null) {
      console.warn('skipped: Python blocks need python3 with its package requests');
      return;
    }
    const done = spawnSync('python3', ['block.py'], { cwd: folder, env: { ...env, ...variables } });
    expect({ status: done.status, err: String(done.stderr) }).toEqual({ status: 0, err: '' });
  }
});

function parseJson(block: DocsBlock): unknown {
  const text = block.code.trim();
  try {
    return JSON.parse(/^[{[]/.test(text) ? text : `{${text}}`);
  } catch (error) {
    throw new Error(`${at(block)}: ${(error as Error).message}`);
  }
}
