import { createSealer } from '../domain/sealing.js';
import { createSigningKeys, type SigningKeys } from '../storage/ai-jobs/signing-keys.js';
import { connectCollections } from '../storage/collections.js';
import { runningSettings, sealingKey } from './data-folder.js';

/** `postback signing-key show`: prints the public keys (PEM) that an organisation's receivers may need. */
export async function showSigningKeys(org: string): Promise<void> {
  await withSigningKeys(async (keys) => process.stdout.write((await keys.listPublicKeys(org)).join('')));
}

/** `postback signing-key rotate`: creates a key for an organisation's new jobs; its running jobs use the old key. */
export async function rotateSigningKey(org: string): Promise<void> {
  await withSigningKeys(async (keys) => {
    console.log(`${await keys.rotate(org)} signs new jobs of ${org}.`);
    console.error(
      'Receivers must read GET /v3/ai/webhook-public-key again. It lists the old key for as long as it is needed.',
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
