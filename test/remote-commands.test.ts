import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { Webhook } from 'standardwebhooks';
import { createClient } from './support/client.js';
import { runCommand } from './support/command.js';
import { receiverDuringTests } from './support/during-tests.js';
import { eventually, PATIENCE_MS } from './support/eventually.js';
import { outputOf } from './support/output.js';
import { makeKey, sharedProduct } from './support/product.js';
import { startReceiver } from './support/receiver.js';

/** The commands that talk to a server, as a person at another machine uses them. */
describe('commands against a server', () => {
  const { apiUrl, mongodbUri, temporalAddress } = sharedProduct();
  const folder = mkdtempSync(join(tmpdir(), 'postback-remote-'));
  const environment: Record<string, string> = {
    POSTBACK_URL: apiUrl,
    POSTBACK_DATA_DIR: join(folder, 'none'),
    XDG_CONFIG_HOME: join(folder, 'config'),
  };
  const receiver = receiverDuringTests();
  beforeAll(async () => {
    const kinds = ['api', 'crew_org', 'payment_secret'] as const;
    const keys = await Promise.all(kinds.map(async (kind) => (await makeKey(mongodbUri, 'remote', kind)).key));
    environment.POSTBACK_API_KEY = keys.join(',');
  });
  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  const postback = (...args: string[]) => runCommand(args, environment);
  /** The data of a command that must succeed. */
  async function dataOf(...args: string[]) {
    const { code, out, err } = await postback(...args, '--json');
    expect({ code, err }).toEqual({ code: 0, err: '' });
    return JSON.parse(out);
  }

  /** Runs a command that prints until it is stopped, and stops it. */
  async function whilePrinting(args: string[], use: (output: { out: string }) => Promise<void>): Promise<void> {
    const env = { ...process.env, ...environment };
    const child = spawn(process.execPath, ['dist/cli/main.js', ...args], { env, stdio: ['ignore', 'pipe', 'inherit'] });
    try {
      await use(outputOf(child));
    } finally {
      child.kill();
      await once(child, 'close');
    }
  }

  const client = () => createClient(apiUrl, environment.POSTBACK_API_KEY!.split(',')[0]!);

  describe('content', () => {
    const files = join(folder, 'files');
    const inShelf = ['--database', 'shelf'];

    beforeAll(async () => {
      mkdirSync(join(files, 'deep'), { recursive: true });
      writeFileSync(join(files, 'tides.md'), '# Tides\n\nThe tide turns at noon. The harbour is quiet then.');
      writeFileSync(join(files, 'deep', 'berths.txt'), 'A berth at the north quay costs forty crowns.');
      writeFileSync(join(files, '.hidden'), 'not sent');
      expect(await dataOf('databases', 'create', 'shelf')).toEqual({ database: 'shelf', status: 'ready' });
    });

    test('a folder is ingested with paths as ids; failures are listed and set the exit code', async () => {
      writeFileSync(join(files, 'empty.txt'), '');
      const first = await postback('ingest', files, ...inShelf, '--watch', '--metadata', '{"year": 2026}');
      expect(first).toMatchObject({
        code: 1,
        out: expect.stringMatching(/2 completed, 1 failed\n✗ empty.txt: E2001 /),
      });
      rmSync(join(files, 'empty.txt'));
      const again = await dataOf('ingest', `${files}/*.md`, join(files, 'tides.md'), ...inShelf, '--watch');
      expect(again.results.map(({ id }: { id: string }) => id)).toContain('tides.md');

      const { items } = await dataOf('items', 'list', ...inShelf, '--status', 'completed');
      expect(items.map(({ id }: { id: string }) => id)).toEqual(
        expect.arrayContaining(['tides.md', 'deep/berths.txt']),
      );
      const shown = await postback('items', 'show', 'deep/berths.txt', ...inShelf);
      expect(shown.out).toMatch(/status +completed\n.*2026.*\n(.|\n)*costs forty crowns/);
      expect((await postback('databases', 'stats', 'shelf')).out).toMatch(/completed +\d/);
      expect((await postback('databases', 'list')).out).toMatch(/shelf +ready/);
    });

    test('events are printed as they happen', async () => {
      await whilePrinting(['events', '--json', '--database', 'shelf'], async (output) => {
        await eventually('ready', () => output.out.includes('"ready"'));
        const file = join(folder, 'new.md');
        writeFileSync(file, '# New\n\nA new buoy marks the channel.');
        expect(await postback('ingest', file, ...inShelf, '--watch')).toMatchObject({ code: 0 });
        await eventually('the item', () => /"id":"new.md".*"status":"completed"/.test(output.out));
      });
    });

    test('a question prints hits with the sentences that match; errors name code and request', async () => {
      await postback('ingest', files, ...inShelf, '--watch');
      const { code, out } = await postback('query', 'price', 'of', 'a', 'berth', ...inShelf, '--max', '1', '--explain');
      expect({ code, out }).toMatchObject({
        code: 0,
        out: expect.stringMatching(/^1\. .*\n +A berth at the north quay/),
      });
      expect(out).not.toContain('→');
      expect(await postback('query', 'x', '--database', 'nowhere')).toMatchObject({
        code: 1,
        err: expect.stringMatching(/nowhere.*404 DATABASE_NOT_FOUND, request req_/),
      });
      expect(await postback('query', 'x', ...inShelf, '--max', 'many')).toMatchObject({
        code: 1,
        err: expect.stringContaining('whole number'),
      });
    });

    test('a database is exported, continued after a cut, and imported into another one', async () => {
      const path = join(folder, 'shelf.ndjson');
      await dataOf('databases', 'create', 'chart');
      const inChart = ['--database', 'chart'];
      await postback('ingest', files, ...inChart, '--watch');
      const api = client();
      const pairs = [{ user: 'Where do I moor?', assistant: 'At the north quay.' }];
      const memories = JSON.stringify([{ id: 'talk', title: 'A talk', user_assistant_pairs: pairs }]);
      await api.ingest({ database: 'chart', collection: 'talks', memories });
      await api.ended('chart', 'talk');

      const first = await dataOf('export', path, ...inChart);
      expect(first).toMatchObject({ exported: 3, skipped: 0 });
      const whole = readFileSync(path);
      writeFileSync(path, whole.subarray(0, whole.length - 10));
      expect(await dataOf('export', path, ...inChart)).toMatchObject({ exported: 1, skipped: 2 });
      expect(readFileSync(path, 'utf8').split('\n').sort()).toEqual(whole.toString().split('\n').sort());

      await dataOf('databases', 'create', 'copy');
      expect(await dataOf('import', path, '--database', 'copy')).toEqual({ accepted: 3, unchanged: 0, rejected: [] });
      await Promise.all(['tides.md', 'deep/berths.txt', 'talk'].map((id) => api.ended('copy', id)));
      const { items } = await dataOf('items', 'list', '--database', 'copy');
      const talk = items.find(({ id }: { id: string }) => id === 'talk');
      expect(talk).toMatchObject({
        collection: 'talks',
        type: 'memory',
        title: 'A talk',
        indexing_status: 'completed',
      });
      expect((await postback('items', 'show', 'talk', '--database', 'copy')).out).toContain('At the north quay.');
      expect(await dataOf('import', path, '--database', 'copy')).toMatchObject({ accepted: 0, unchanged: 3 });
      writeFileSync(path, 'no item\n');
      expect(await postback('import', path, '--database', 'copy')).toMatchObject({
        code: 1,
        err: expect.stringContaining('not an exported item'),
      });
    });

    test('an item that was replaced between two runs of an export is imported in both versions, the last of which stays', async () => {
      const path = join(folder, 'twice.ndjson');
      const line = (version: number) => {
        const fields = { id: 'twice', collection: 'default', type: 'knowledge', title: null };
        const source = { kind: 'text', text: `The text of version ${version}.` };
        return `${JSON.stringify({ ...fields, metadata: {}, additional_metadata: {}, version, source })}\n`;
      };
      writeFileSync(path, line(1) + line(2));
      await dataOf('databases', 'create', 'twice');
      const imported = await dataOf('import', path, '--database', 'twice');
      expect(imported).toEqual({ accepted: 2, unchanged: 0, rejected: [] });
      await client().ended('twice', 'twice');
      expect((await postback('items', 'show', 'twice', '--database', 'twice')).out).toContain('The text of version 2.');
    });

    test('items and databases are deleted; a missing item sets the exit code', async () => {
      await dataOf('databases', 'create', 'brief');
      await postback('ingest', join(files, 'tides.md'), '--database', 'brief', '--watch');
      const deleted = await postback('items', 'delete', 'tides.md', 'other', '--database', 'brief');
      expect(deleted).toMatchObject({ code: 1, out: '1 deleted\n✗ other does not exist\n' });
      expect(await postback('databases', 'delete', 'brief')).toMatchObject({ code: 0 });
      expect(await dataOf('usage')).toMatchObject({ items: { used: expect.any(Number) } });
    });
  });

  test('env prints the address and the keys of a server for a shell', async () => {
    const key = environment.POSTBACK_API_KEY!.split(',')[0]!;
    const { out } = await postback('env');
    const script = `${out}\nprintf '%s %s %s' "$POSTBACK_URL" "$POSTBACK_KEY" "$POSTBACK_API_KEY"`;
    const { stdout } = spawnSync('sh', ['-c', script], { env: {} });
    expect(String(stdout)).toBe(`${apiUrl} ${key} ${environment.POSTBACK_API_KEY}`);
  });

  describe('callbacks', () => {
    test('deliveries are printed as they change', async () => {
      const own = await startReceiver();
      await whilePrinting(['deliveries', 'tail', '--jobs', '--json'], async (output) => {
        // Until the stream is open, which the command does not say.
        await eventually('a delivered callback', async () => {
          await dataOf('trigger', 'job', '--to', own.url);
          return /"event_type":"async_job_completed".*"status":"delivered"/.test(output.out);
        });
      }).finally(() => own.close());
    });

    test('listen registers itself, prints verified callbacks, forwards them, and unregisters at the end', async () => {
      const args = ['dist/cli/main.js', 'listen', '--register', '--json', '--forward-to', receiver.url];
      const env = { ...process.env, ...environment };
      const child = spawn(process.execPath, args, { env, stdio: ['ignore', 'pipe', 'pipe'] });
      const output = outputOf(child);
      const ended = once(child, 'close');
      const [line] = (await once(child.stderr, 'data')).map(String);
      const url = /http:\S+/.exec(line!)![0];
      try {
        // As a process: it waits for signals.
        const second = spawnSync(process.execPath, ['dist/cli/main.js', 'listen', '--register'], {
          env,
          timeout: PATIENCE_MS,
        });
        expect([second.status, String(second.stderr)]).toEqual([1, expect.stringContaining('registered already')]);
        expect(await dataOf('trigger', 'indexing')).toMatchObject({ delivered: true, status_code: 204 });
        expect(await dataOf('trigger', 'job', '--to', url)).toMatchObject({ job_id: expect.any(String) });
        await leaveWithinBody(url);
        expect((await fetch(url, { method: 'POST', body: '{"event": "forged"}' })).status).toBe(401);
        const lines = await eventually('three callbacks', () => {
          const complete = output.out.split('\n').slice(0, -1);
          return complete.length >= 3 ? complete.map((text) => JSON.parse(text)) : undefined;
        });
        const verdicts = lines.map(({ body, verified }) => [JSON.parse(body).event, verified]);
        expect(verdicts.sort()).toEqual([
          ['async_job_completed', true],
          ['forged', false],
          ['indexing.status_changed', true],
        ]);
        expect(receiver.received.map(({ json }) => json.event).sort()).toEqual([verdicts[0]![0], verdicts[2]![0]]);
      } finally {
        child.kill('SIGINT');
      }
      expect((await ended)[0]).toBe(0);
      expect(await postback('trigger', 'indexing')).toMatchObject({ code: 1, err: expect.stringContaining('404') });
    });

    test('listen leaves a receiver that was registered in its place', async () => {
      const api = client();
      const later = `${receiver.url}/later`;
      await whilePrinting(['listen', '--register'], async () => {
        await eventually('registered', async () => (await api.get('/webhooks/indexing')).body.data.registered);
        await api.request('DELETE', '/webhooks/indexing');
        await api.request('POST', '/webhooks/indexing', { json: { url: later, generate_signing_secret: true } });
      });
      expect((await api.get('/webhooks/indexing')).body.data.url).toBe(later);
      await api.request('DELETE', '/webhooks/indexing');
    });

    test('trigger sends a callback of an authentication, whose delivery can be listed, shown and followed', async () => {
      const { authentication_id } = await dataOf('trigger', 'authentication', '--to', receiver.url);
      await receiver.waitFor('the callback', ({ json }) => json.authentication_id === authentication_id);
      const listed = await eventually('the delivery', async () => {
        const { deliveries } = await dataOf(
          'deliveries',
          'list',
          '--doc-id',
          authentication_id,
          '--status',
          'delivered',
        );
        return deliveries.length > 0 ? deliveries : undefined;
      });
      expect((await postback('deliveries', 'show', listed[0].delivery_id)).out).toMatch(
        /event_type +authentication.ended/,
      );
      const job = await dataOf(
        'jobs',
        'run',
        'text/language_detection/eld',
        '--text',
        'Rain again.',
        '--webhook',
        receiver.url,
      );
      await receiver.waitFor('the result', ({ json }) => json.job_id === job.job_id);
      const of = ['--jobs', '--doc-id', job.job_id];
      const [delivery] = await eventually('the record', async () => {
        const { deliveries } = await dataOf('deliveries', 'list', ...of, '--status', 'delivered');
        return deliveries.length > 0 ? deliveries : undefined;
      });
      for (const kind of [['--items'], ['--crew', 'support-reply']]) {
        expect((await postback('deliveries', 'show', delivery.delivery_id, ...kind)).err).toContain('404');
      }
      const shown = await postback('deliveries', 'show', delivery.delivery_id, '--jobs');
      expect(shown.out).toMatch(/status +delivered\n(.|\n)* 204 /);
      const retried = await postback('deliveries', 'retry', delivery.delivery_id, '--jobs');
      expect(retried).toMatchObject({ code: 1, err: expect.stringContaining('409') });
      expect((await postback('trigger', 'job')).err).toContain('--to');
    });

    test('listen uses a free port when its own is taken, and leaves out what is not of the named database or crew', async () => {
      const { port } = new URL(receiver.url);
      const crew = 'support-reply';
      const wanted = ['--database', 'harbour', '--crew', crew];
      const args = ['dist/cli/main.js', 'listen', '--json', '--port', port, ...wanted];
      const env = { ...process.env, ...environment };
      const child = spawn(process.execPath, args, { env, stdio: ['ignore', 'pipe', 'pipe'] });
      try {
        const output = outputOf(child);
        const url = await eventually('listening', () => /Listening on (http:\S+)\./.exec(output.err)?.[1]);
        expect(output.err).toContain(`Port ${port} is taken`);
        expect(new URL(url).port).not.toBe(port);
        const inputs = ['--input', 'customer_message=Where?', '--input', 'notes=none'];
        const { kickoff_id } = await dataOf('crews', 'kickoff', crew, ...inputs);
        for (const callback of [
          { event: 'indexing.status_changed', database: 'elsewhere' },
          { event: 'step', execution_id: '7c9e6679-7425-40de-944b-e07fc1f90ae7' },
          { event: 'async_job_completed', job_id: 'any' },
          null,
          { event: 'indexing.status_changed', database: 'harbour' },
          { event: 'step', execution_id: kickoff_id },
        ]) {
          expect((await fetch(url, { method: 'POST', body: JSON.stringify(callback) })).status).toBe(204);
        }
        const lines = await eventually('two lines', () => {
          const complete = output.out.split('\n').slice(0, -1);
          return complete.length >= 2 ? complete : undefined;
        });
        expect(lines.map((line) => JSON.parse(JSON.parse(line).body))).toEqual([
          { event: 'indexing.status_changed', database: 'harbour' },
          { event: 'step', execution_id: kickoff_id },
        ]);
        await dataOf('crews', 'cancel', crew, kickoff_id);
      } finally {
        child.kill('SIGINT');
      }
      await once(child, 'close');
    });

    test('the first authentication with a receiver shows the signing secret of payments once', async () => {
      const key = (await makeKey(mongodbUri, 'remote-first-payment', 'payment_secret')).key;
      const first = () =>
        runCommand(['trigger', 'authentication', '--to', receiver.url], { ...environment, POSTBACK_API_KEY: key });
      expect((await first()).out).toMatch(/shown only now: whsec_/);
      expect((await first()).out).not.toContain('whsec_');
    });

    test('authentications are created, listed, shown and closed', async () => {
      const created = await postback('payments', 'create', '--amount', '1250', '--currency', 'JPY');
      expect(created.out).toMatch(/amount +1250 JPY\n(.|\n)*client secret +auth_/);
      const id = /^authentication +(\S+)/.exec(created.out)![1]!;
      expect((await postback('payments', 'list', '--status', 'started')).out).toMatch(
        new RegExp(`${id} +1250 JPY +started`),
      );
      expect((await postback('payments', 'show', id)).out).not.toContain('client secret');
      expect(await dataOf('payments', 'close', id)).toMatchObject({ status: 'closed' });
      expect(await postback('payments', 'create', '--amount', '1', '--currency', 'xxx')).toMatchObject({ code: 1 });
    });

    test('at a terminal a command ends with the next command to try; not in a pipe, and not with --json', async () => {
      const { isTTY } = process.stdout;
      const shown = async (...args: string[]) => {
        process.stdout.isTTY = true;
        try {
          return await runCommand(args, { ...environment, NO_COLOR: '1', TERM: 'xterm' });
        } finally {
          process.stdout.isTTY = isTTY;
        }
      };
      const create = (name: string) => ['databases', 'create', name];
      expect((await shown(...create('next-one'))).out).toBe(
        'next-one is ready.\n\nNext: ./postback ingest examples --database next-one --watch\n',
      );
      expect((await shown(...create('next-two'), '--json')).out).not.toContain('Next:');
      expect((await postback(...create('next-three'))).out).toBe('next-three is ready.\n');
    });

    test('verify checks a stored callback of any age', async () => {
      const secret = `whsec_${Buffer.alloc(32, 7).toString('base64')}`;
      const body = '{"event":"crew_completed","timestamp":"2020-01-01T00:00:00Z"}';
      const at = new Date('2020-01-01T00:00:00Z');
      const [bodyFile, headersFile] = [join(folder, 'body.json'), join(folder, 'headers.txt')];
      const signature = new Webhook(secret).sign('dlv_1', at, body);
      writeFileSync(bodyFile, body);
      writeFileSync(
        headersFile,
        `webhook-id: dlv_1\r\nwebhook-timestamp: ${at.getTime() / 1000}\r\nWebhook-Signature: ${signature}\r\n`,
      );
      const verify = (key: string) => postback('verify', bodyFile, '--headers', headersFile, '--secret', key);
      expect(await verify(secret)).toMatchObject({ code: 0, out: '✓ verified\n' });
      expect(await verify('whsec_AAAA')).toMatchObject({ code: 1, out: expect.stringContaining('bad_signature') });
    });
  });

  describe('jobs and crews', () => {
    test('a job runs on a file and prints its result; a failed one sets the exit code', async () => {
      const file = join(folder, 'words.txt');
      writeFileSync(file, 'The ferry leaves at nine.');
      const { models } = await dataOf('jobs', 'models');
      const model = models.find(({ model }: { model: string }) => model.startsWith('document/text_extraction/')).model;
      const done = await dataOf('jobs', 'run', model, file, '--wait');
      expect(JSON.stringify(done.output)).toContain('The ferry leaves at nine.');
      writeFileSync(file, Buffer.from('%PDF-1.7\nnothing'));
      const failed = await postback('jobs', 'run', model, file, '--wait');
      expect(failed).toMatchObject({ code: 1, out: expect.stringMatching(/status +fail\n(.|\n)*error /) });
      expect((await postback('jobs', 'list')).out).toMatch(/document\/text_extraction\S+ +fail/);
    });

    test('an execution waits for a person, who rejects its output, then approves', async () => {
      const crew = 'support-reply';
      expect((await postback('crews', 'list')).out).toContain(crew);
      const inputs = ['--input', 'customer_message=Where is my parcel?', '--input', 'notes=none'];
      const callbacks = ['--webhook', receiver.url, '--header', 'X-Gateway: from: here'];
      const { kickoff_id } = await dataOf('crews', 'kickoff', crew, ...inputs, ...callbacks);
      const waits = () =>
        eventually('an output that waits', async () => {
          const { waiting } = await dataOf('crews', 'waiting');
          return waiting.find(({ execution_id }: { execution_id: string }) => execution_id === kickoff_id);
        });
      const { attempt } = await waits();
      const callback = await receiver.waitFor('a callback', ({ json }) => json.execution_id === kickoff_id);
      expect(callback.headers['x-gateway']).toBe('from: here');
      const rejected = await postback('crews', 'reject', kickoff_id, '--feedback', 'Shorter.');
      expect(rejected).toMatchObject({ code: 0, out: expect.stringContaining(`Callbacks go on to ${receiver.url}.`) });
      await eventually('the next attempt', async () => (await waits()).attempt > attempt);
      expect((await postback('crews', 'waiting')).out).toMatch(new RegExp(`${kickoff_id}[^]*/review#`));
      const { output } = await waits();
      expect((await postback('crews', 'status', crew, kickoff_id)).out).toContain(output);
      expect((await waits()).crewWebhookUrl).toBe(receiver.url);
      const approved = await postback('crews', 'approve', kickoff_id, '--no-webhook');
      expect(approved).toMatchObject({ code: 0, err: '', out: expect.stringContaining('no more callbacks') });
      await eventually('the end', async () => {
        return (await postback('crews', 'status', crew, kickoff_id)).out.includes('completed');
      });
      expect((await postback('crews', 'status', crew, kickoff_id)).out).toContain('attempt 2 approved by the key "');
      expect((await postback('crews', 'executions', crew)).out).toContain(kickoff_id);
      expect(await postback('crews', 'approve', kickoff_id)).toMatchObject({
        code: 1,
        err: expect.stringContaining('is not waiting for a person'),
      });
    });
  });

  test('the doctor finds nothing wrong with a server that is ready, and names one that does not respond', async () => {
    const states = (findings: { about: string; state: string }[]) =>
      Object.fromEntries(findings.map(({ about, state }) => [about, state]));
    const servers = { MONGODB_URI: mongodbUri, TEMPORAL_ADDRESS: temporalAddress };
    // On a busy machine a probe can time out.
    await eventually('nothing wrong', async () => {
      const healthy = await runCommand(['doctor', '--json'], { ...environment, ...servers });
      expect(states(JSON.parse(healthy.out).findings)).toMatchObject({
        ...{ API: 'ok', Clock: 'ok', Key: 'ok', 'Data folder': 'ok', MongoDB: 'ok', Temporal: 'ok' },
      });
      return true;
    });
    const away = {
      POSTBACK_URL: 'http://127.0.0.1:1',
      MONGODB_URI: 'mongodb://127.0.0.1:1',
      TEMPORAL_ADDRESS: '127.0.0.1:1',
    };
    const ill = await runCommand(['doctor'], { ...environment, ...away });
    expect(ill).toMatchObject({
      code: 1,
      out: expect.stringMatching(/✗ API .*does not respond(.|\n)*✗ MongoDB (.|\n)*✗ Temporal /),
    });
  });

  test('the last lines of the logs are printed with the process they are from', async () => {
    const logs = join(environment.POSTBACK_DATA_DIR!, 'logs');
    mkdirSync(logs, { recursive: true });
    writeFileSync(join(logs, 'api.log'), '{"level":30,"msg":"first"}\n{"level":40,"msg":"second"}\nnot whole');
    const { out } = await postback('logs', 'tail', 'api', 'worker', '--no-follow', '--lines', '1');
    expect(out).toMatch(/^api +WARN.* second\n$/);
    rmSync(environment.POSTBACK_DATA_DIR!, { recursive: true });
  });

  test('a profile is used by its name, and its file is readable by its owner only', async () => {
    const key = environment.POSTBACK_API_KEY!.split(',')[0]!;
    await postback('profiles', 'add', 'work', '--url', apiUrl, '--key', key);
    const listed = await postback('profiles', 'list');
    expect(listed.out).toMatch(/work +http\S+ +api/);
    expect(listed.out).not.toContain(key);
    const path = join(environment.XDG_CONFIG_HOME!, 'postback', 'profiles.json');
    expect(statSync(path).mode & 0o777).toBe(0o600);
    const elsewhere = { ...environment, POSTBACK_URL: 'http://127.0.0.1:1', POSTBACK_API_KEY: '' };
    expect(await runCommand(['usage', '--profile', 'work'], elsewhere)).toMatchObject({ code: 0 });
    expect(await runCommand(['crews', 'list', '--profile', 'work'], elsewhere)).toMatchObject({
      code: 1,
      err: expect.stringContaining('no key of kind crew_org'),
    });
    expect(await runCommand(['usage'], { ...elsewhere, POSTBACK_API_KEY: key })).toMatchObject({
      code: 1,
      err: expect.stringMatching(/127\.0\.0\.1:1 does not respond \(.+\)\. Is it running\?/),
    });
    await postback('profiles', 'remove', 'work');
    expect(readFileSync(path, 'utf8')).toBe('{}\n');
    const nowhere = { POSTBACK_DATA_DIR: join(folder, 'none'), XDG_CONFIG_HOME: join(folder, 'config') };
    expect(existsSync(nowhere.POSTBACK_DATA_DIR)).toBe(false);
    expect(await runCommand(['usage'], nowhere)).toMatchObject({
      code: 1,
      err: expect.stringContaining('POSTBACK_URL'),
    });
  });
});

/** Begins a request, and closes its connection before the body has arrived. */
async function leaveWithinBody(url: string): Promise<void> {
  const socket = connect(Number(new URL(url).port), '127.0.0.1');
  socket.write('POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\n{"event":', () => socket.resetAndDestroy());
  await once(socket, 'close');
}
