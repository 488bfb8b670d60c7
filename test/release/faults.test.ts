import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { type FaultEvent, injectFaults } from '../../bench/cluster/faults.js';
import { DIRECT } from '../../bench/cluster/links.js';
import { isMemberInUse } from '../../bench/cluster/mongodb.js';
import { answers, type Part } from '../../bench/cluster/part.js';
import { createRandom } from '../../bench/cluster/random.js';
import { type RunOutcome, runUnderLoad } from '../../bench/cluster/run.js';
import { SETTINGS } from '../../bench/cluster/settings.js';
import { responds } from '../../bench/cluster/temporal.js';
import { writeCrews } from '../../bench/support/crews.js';
import { type Product, startProduct } from '../support/product.js';

const SEED = Number(process.env.FAULTS_SEED ?? 1);
const MINUTES = 2;
/** The load of the bench would take a core. */
const SLOWNESS = 10;

// The short form of `npm run bench -- cluster`: the same load, faults and checks, on what `npm start` starts.
describe(`two minutes of mixed work and faults (repeat them with FAULTS_SEED=${SEED})`, () => {
  const folder = mkdtempSync(join(tmpdir(), 'postback-faults-'));
  const lines: string[] = [];
  let faults: FaultEvent[] = [];
  let product: Product;
  let outcome: RunOutcome;

  beforeAll(async () => {
    writeCrews(folder);
    product = await startProduct({ ...SETTINGS, POSTBACK_CREWS_DIR: folder, POSTBACK_AUTHENTICATION_SECONDS: '20' });
    const print = (line: string) => void lines.push(line);
    outcome = await runUnderLoad(product, {
      seed: SEED,
      minutes: MINUTES,
      slowness: SLOWNESS,
      change: async (log, until) => {
        faults = log.events;
        const options = { random: createRandom(SEED), until, isComplete: true, maxFreezeSeconds: 12, print };
        await injectFaults({ parts: partsOf(product), links: DIRECT }, log, options);
      },
      print,
    });
  });
  afterAll(async () => {
    await product?.remove();
    rmSync(folder, { recursive: true, force: true });
  });

  test('every process was killed and frozen', () => {
    const hit = new Set(faults.map(({ kind, part }) => `${kind} ${part}`));
    const parts = ['api', 'worker', 'embedder', 'temporal', 'mongod'];
    expect([...hit].sort()).toEqual(parts.flatMap((part) => [`freeze ${part}`, `kill ${part}`]).sort());
  });

  test('all kinds of work were accepted', () => {
    const accepted = outcome.figures['Accepted work']!;
    expect(accepted.filter(({ value }) => value === 0)).toEqual([]);
  });

  test('what was accepted has ended, was announced, is there, and was not done twice without a reason', () => {
    const [found, story] = [outcome.violations, lines];
    expect({ found, story: found.length > 0 ? story : [] }).toEqual({ found: [], story: [] });
  });
});

/** The processes of an embedded product. */
function partsOf({ api, worker, embedder, stack, apiUrl, workerUrl }: Product): Part[] {
  const { temporal, mongodb } = stack.servers;
  const mongodbAddress = new URL(stack.mongodbUri).host;
  return [
    { name: 'api', pid: api.pid, isWell: () => answers(`${apiUrl}/healthz`) },
    { name: 'worker', pid: worker.pid, isWell: () => answers(`${workerUrl}/healthz`) },
    { name: 'embedder', pid: embedder!.pid, isWell: async () => true },
    { ...temporal!, name: 'temporal', isWell: () => responds(stack.temporalAddress) },
    { ...mongodb!, name: 'mongod', isWell: () => isMemberInUse(mongodbAddress) },
  ];
}
