import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, test } from '@jest/globals';
import { Binary, type Db } from 'mongodb';
import { createSealer, SEALED_PURPOSES, type SealedPurpose, type Sealer } from '../domain/sealing.js';
import type { AiJobRecord } from '../storage/ai-jobs/job-record.js';
import { createSigningKeys } from '../storage/ai-jobs/signing-keys.js';
import { createConnectors } from '../storage/connectors/connectors.js';
import { createIdempotencyKeys } from '../storage/idempotency-keys.js';
import { createAuthentications } from '../storage/payments/authentications.js';
import { resealAll, SEALED_FIELDS } from '../storage/sealed-fields.js';
import { createRegistrations } from '../storage/webhooks/registrations.js';
import { createOrganisationSecrets } from '../storage/webhooks/signing-secrets.js';
import { createHeaderSealing } from '../storage/webhooks/static-headers.js';
import { runCommand } from './support/command.js';
import { collectionsDuringTests } from './support/during-tests.js';
import { databaseBeside, sharedProduct, withDb } from './support/product.js';
import { aiJobRecord } from './support/records.js';

const keyOf = (byte: number) => Buffer.alloc(32, byte).toString('base64');
const [OLD, NEW, FOREIGN] = [keyOf(1), keyOf(2), keyOf(3)];
const ORG = 'sealed';
const SCOPE = { org: ORG, route: 'POST /things', key: 'once' };
const SECRET = 'a secret that is sealed';
const HEADERS = { Authorization: SECRET };
const EXECUTION = '7c9e6679-7425-40de-944b-e07fc1f90ae7';
const HOUR_MS = 3_600_000;

/** The path of every sealed value in a database, with the value; elements of an array share their path. */
async function sealedValues(db: Db, keyIds: string[]): Promise<{ at: string; value: Binary }[]> {
  const found: { at: string; value: Binary }[] = [];
  const visit = (value: unknown, at: string): void => {
    if (value instanceof Binary) {
      if (keyIds.includes(Buffer.from(value.buffer).toString('hex', 1, 9))) found.push({ at, value });
    } else if (Array.isArray(value)) for (const element of value) visit(element, at);
    else if (value !== null && typeof value === 'object' && !(value instanceof Date)) {
      for (const [name, field] of Object.entries(value)) visit(field, `${at}.${name}`);
    }
  };
  const collections = (await db.collections()).filter(({ collectionName }) => collectionName !== 'files.chunks');
  for (const collection of collections) {
    for await (const record of collection.find()) visit(record, collection.collectionName);
  }
  return found;
}

const declared = () => SEALED_FIELDS.flatMap(({ collection, paths }) => paths.map((path) => `${collection}.${path}`));

/** The database, with a write that another client makes just before the first update of a collection. */
function withWriteBefore(db: Db, name: string, write: () => Promise<unknown>): Db {
  let written = false;
  const intercepted = new Proxy(db.collection(name), {
    get(collection, method) {
      const member = Reflect.get(collection, method) as unknown;
      if (typeof member !== 'function') return member;
      if (method !== 'updateOne') return member.bind(collection);
      return async (...args: unknown[]) => {
        if (!written) await write();
        written = true;
        return member.apply(collection, args);
      };
    },
  });
  return new Proxy(db, {
    get(target, member) {
      if (member !== 'collection') return Reflect.get(target, member);
      return (other: string) => (other === name ? intercepted : target.collection(other));
    },
  });
}

describe('sealed values', () => {
  const mongodbUri = databaseBeside(sharedProduct().mongodbUri, 'sealing');
  const collections = collectionsDuringTests(mongodbUri);

  function stores(sealer: Sealer) {
    const times = { expiresAfterMs: HOUR_MS, keptForMs: HOUR_MS, deviceDataKeptForMs: HOUR_MS };
    return {
      registrations: createRegistrations(collections, sealer),
      crewSigningSecrets: createOrganisationSecrets(collections, sealer, 'crew'),
      paymentSigningSecrets: createOrganisationSecrets(collections, sealer, 'payment'),
      signingKeys: createSigningKeys(collections, sealer),
      connectors: createConnectors(collections, sealer),
      authentications: createAuthentications(collections, sealer, times),
      idempotencyKeys: createIdempotencyKeys(collections, sealer, { ttlMs: HOUR_MS }),
    };
  }

  /** One value of every purpose, and what opens it. */
  const values: Record<SealedPurpose, { write(sealer: Sealer): Promise<unknown>; read(sealer: Sealer): unknown }> = {
    'webhook-signing-secret': {
      async write(sealer) {
        const { registrations } = stores(sealer);
        for (const secret of ['a previous secret', SECRET])
          await registrations.register(ORG, 'https://example.com/', [], secret);
      },
      async read(sealer) {
        const { registrations } = stores(sealer);
        const [current] = registrations.openSecrets((await registrations.findForOrg(ORG))!);
        return current;
      },
    },
    'crew-signing-secret': {
      async write(sealer) {
        for (const secret of ['a previous secret', SECRET]) await stores(sealer).crewSigningSecrets.set(ORG, secret);
      },
      read: async (sealer) => (await stores(sealer).crewSigningSecrets.listOpen(ORG))[0],
    },
    'payment-signing-secret': {
      async write(sealer) {
        for (const secret of ['a previous secret', SECRET]) await stores(sealer).paymentSigningSecrets.set(ORG, secret);
      },
      read: async (sealer) => (await stores(sealer).paymentSigningSecrets.listOpen(ORG))[0],
    },
    'job-signing-key': {
      write: (sealer) => stores(sealer).signingKeys.currentId(ORG),
      async read(sealer) {
        const { signingKeys } = stores(sealer);
        return (await signingKeys.openPrivateKey(ORG, await signingKeys.currentId(ORG))).asymmetricKeyType && SECRET;
      },
    },
    'webhook-headers': {
      write: (sealer) =>
        stores(sealer).registrations.register(ORG, 'https://example.com/', [], undefined, { headers: HEADERS }),
      async read(sealer) {
        const { registrations } = stores(sealer);
        return registrations.openHeaders((await registrations.findForOrg(ORG))!).Authorization;
      },
    },
    'job-headers': {
      async write(sealer) {
        const job = aiJobRecord({ org: ORG, now: new Date() });
        const headers = createHeaderSealing(sealer, 'job-headers').seal(job._id, HEADERS);
        await collections.db.collection('ai_jobs').insertOne({ ...job, headers } as never);
      },
      async read(sealer) {
        const { _id, headers } = (await collections.db.collection<AiJobRecord>('ai_jobs').findOne({ org: ORG }))!;
        return createHeaderSealing(sealer, 'job-headers').open(_id, headers).Authorization;
      },
    },
    'crew-headers': {
      async write(sealer) {
        const headers = createHeaderSealing(sealer, 'crew-headers').seal(EXECUTION, HEADERS);
        const insert = (name: string, record: object) =>
          collections.db.collection(name).insertOne({ _id: `${name}-1`, org: ORG, ...record } as never);
        await insert('crew_executions', { _id: EXECUTION, headers });
        await insert('crew_feedback', { execution: EXECUTION, headers });
        await insert('deliveries', {
          doc_id: EXECUTION,
          message: { url: 'https://example.com/', body: '{}', headers },
        });
      },
      async read(sealer) {
        const { open } = createHeaderSealing(sealer, 'crew-headers');
        const { db } = collections;
        const [execution, feedback, delivery] = await Promise.all(
          ['crew_executions', 'crew_feedback', 'deliveries'].map((name) => db.collection(name).findOne({ org: ORG })),
        );
        const stored = [execution!.headers, feedback!.headers, delivery!.message.headers];
        const [text, ...others] = stored.map((headers) => open(EXECUTION, headers).Authorization);
        return others.every((other) => other === text) && text;
      },
    },
    'connector-credentials': {
      write: (sealer) =>
        stores(sealer).connectors.add({ _id: 'con_1', org: ORG, deleted_at: null } as never, {
          access_key_id: 'me',
          secret_access_key: SECRET,
        }),
      async read(sealer) {
        const { connectors } = stores(sealer);
        return connectors.openCredentials((await connectors.findForOrg(ORG, 'con_1'))!)?.secret_access_key;
      },
    },
    'authentication-details': {
      async write(sealer) {
        const { authentications } = stores(sealer);
        const fields = { amount: 1, currency: 'EUR', return_url: SECRET };
        const { record } = authentications.prepare(ORG, fields, new Date());
        await authentications.add(record);
        await authentications.check(record, { data: { click_to_pay: {} }, sent: {} }, 'fingerprint', new Date());
      },
      async read(sealer) {
        const record = (await collections.authentications.findOne({ org: ORG }))!;
        return stores(sealer).authentications.openDetails(record).return_url;
      },
    },
    'eligibility-decision': {
      write: async () => undefined,
      async read(sealer) {
        const { _id, check } = (await collections.authentications.findOne({ org: ORG }))!;
        return stores(sealer).authentications.openReasons(_id, check!) && SECRET;
      },
    },
    'eligibility-data': {
      write: async () => undefined,
      async read(sealer) {
        const record = (await collections.authentications.findOne({ org: ORG }))!;
        return (await stores(sealer).authentications.findCheckData(record, new Date())) && SECRET;
      },
    },
    idempotency: {
      async write(sealer) {
        const { idempotencyKeys } = stores(sealer);
        const outcome = await idempotencyKeys.claim(SCOPE, 'fingerprint');
        if (outcome.state !== 'claimed') throw new Error(outcome.state);
        const response = { status: 201, headers: { a: 'b' }, body: SECRET };
        await idempotencyKeys.saveWith(
          outcome.claim,
          () => response,
          async () => undefined,
        );
      },
      async read(sealer) {
        const outcome = await stores(sealer).idempotencyKeys.claim(SCOPE, 'fingerprint');
        return outcome.state === 'saved' && outcome.response.status === 201 && outcome.response.body;
      },
    },
  };

  const readAll = (sealer: Sealer) => Promise.all(SEALED_PURPOSES.map((purpose) => values[purpose].read(sealer)));
  const allRead = SEALED_PURPOSES.map(() => SECRET);
  const both = createSealer(`${NEW}, ${OLD}\n`);
  const keyIds = [OLD, NEW, FOREIGN].map((key) => createSealer(key).keyId);
  beforeAll(async () => {
    for (const purpose of SEALED_PURPOSES) await values[purpose].write(createSealer(OLD));
  });

  test('are in the declared fields, each of which has one', async () => {
    const found = await sealedValues(collections.db, keyIds);
    expect([...new Set(found.map(({ at }) => at))].sort()).toEqual(declared().sort());
    // Whatever other tests have stored until now.
    const { mongodbUri: shared, dataDir } = sharedProduct();
    const { keyId } = createSealer(readFileSync(join(dataDir, 'sealing.key'), 'utf8'));
    const elsewhere = await withDb(shared, (db) => sealedValues(db, [keyId]));
    expect(declared()).toEqual(expect.arrayContaining([...new Set(elsewhere.map(({ at }) => at))]));
  });

  test('name their key: an old key opens them, the first key seals, and a missing key is named', async () => {
    expect(await readAll(both)).toEqual(allRead);
    const sealed = both.seal(SECRET, 'idempotency/a');
    expect(createSealer(NEW).open(sealed, 'idempotency/a')).toBe(SECRET);
    expect(() => createSealer(OLD).open(sealed, 'idempotency/a')).toThrow(createSealer(NEW).keyId);
    expect(() => both.open(sealed, 'idempotency/b')).toThrow();
    expect(() => createSealer(`${NEW},short`)).toThrow(/32 bytes/);
    expect(() => createSealer(' ')).toThrow(/POSTBACK_SEALING_KEY is empty/);
  });

  test('are sealed again by a rotation that continues after an interruption, and loses no value written while it runs', async () => {
    let sealings = 0;
    const interrupted: Sealer = {
      ...both,
      seal(...args) {
        sealings += 1;
        if (sealings > 2) throw new Error('the process ended');
        return both.seal(...args);
      },
    };
    await expect(resealAll(collections.db, interrupted)).rejects.toThrow('the process ended');
    expect(await readAll(both)).toEqual(allRead);

    // A client sets other credentials between the rotation's read and its write.
    const { connectors } = stores(createSealer(OLD));
    const credentials = { access_key_id: 'me', secret_access_key: 'another' };
    const racing = withWriteBefore(collections.db, 'connectors', () =>
      connectors.update(ORG, 'con_1', { credentials }),
    );
    const { resealed, unreadable } = await resealAll(racing, both);
    expect(unreadable).toEqual({});
    expect(resealed).toBe(declared().length - 2);
    const found = await sealedValues(collections.db, keyIds);
    expect(found.every(({ value }) => both.isCurrent(value.buffer))).toBe(true);
    expect(await readAll(createSealer(NEW))).toEqual(
      SEALED_PURPOSES.map((purpose) => (purpose === 'connector-credentials' ? 'another' : SECRET)),
    );
    expect(await resealAll(collections.db, both)).toEqual({ resealed: 0, unreadable: {} });
  });

  test('are kept, and named by the command, when no key opens them', async () => {
    await stores(createSealer(FOREIGN)).registrations.setSecret(ORG, SECRET);
    const rotate = async (keys: string) => {
      const env = { MONGODB_URI: mongodbUri, POSTBACK_SEALING_KEY: keys };
      const { code, out, err } = await runCommand(['sealing-key', 'rotate'], env);
      return { code, output: out + err };
    };
    expect(await rotate(NEW)).toEqual({ code: 1, output: expect.stringContaining('1 in registrations') });
    expect(await values['webhook-signing-secret'].read(createSealer(FOREIGN))).toBe(SECRET);
    expect(await rotate(`${NEW},${FOREIGN}`)).toEqual({
      code: 0,
      output: expect.stringContaining(`1 values were sealed again with the key ${both.keyId}`),
    });
    expect(await values['webhook-signing-secret'].read(createSealer(NEW))).toBe(SECRET);
  });
});
