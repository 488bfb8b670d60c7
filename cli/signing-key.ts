import { createSealer } from '../domain/sealing.js';
import { createSigningKeys, type SigningKeys } from '../storage/ai-jobs/signing-keys.js';
import { connectCollections } from '../storage/collections.js';
import { runningSettings } from './running-instance.js';
import { sealingKey } from './sealing-key.js';

/** Prints the public keys (PEM) that receivers may need. */
export async function showSigningKeys(): Promise<void> {
  await withSigningKeys(async (keys) => process.stdout.write((await keys.listPublicKeys()).join('')));
}

export async function rotateSigningKey(): Promise<void> {
  await withSigningKeys(async (keys) => {
    console.log(`${await keys.rotate()} signs new jobs from now on.`);
    console.error(
      'Receivers should read GET /v3/ai/webhook-public-key again; it lists the old key while it is needed.',
    );
  });
}

async function withSigningKeys(work: (keys: SigningKeys) => Promise<unknown>): Promise<void> {
  const config = runningSettings(process.env);
  const collections = await connectCollections(config.MONGODB_URI, 'postback-cli');
  try {
    await work(createSigningKeys(collections, createSealer(sealingKey(config))));
  } finally {
    await collections.mongoClient.close();
  }
}
