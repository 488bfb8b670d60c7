import { createSealer } from '../domain/sealing.js';
import { connectCollections } from '../storage/collections.js';
import { resealAll } from '../storage/sealed-fields.js';
import { runningSettings, sealingKey } from './data-folder.js';

/** `postback sealing-key rotate`: seals every stored secret with the first key of POSTBACK_SEALING_KEY. */
export async function rotateSealingKey(): Promise<void> {
  const config = runningSettings(process.env);
  const sealer = createSealer(sealingKey(config));
  const collections = await connectCollections(config.MONGODB_URI, 'postback-cli');
  try {
    const { resealed, unreadable } = await resealAll(collections.db, sealer);
    console.log(`${resealed} values were sealed again with the key ${sealer.keyId}.`);
    const lost = Object.entries(unreadable).map(([collection, count]) => `${count} in ${collection}`);
    if (lost.length > 0) {
      throw new Error(
        `values that no key of POSTBACK_SEALING_KEY opens: ${lost.join(', ')}. Add their key and repeat.`,
      );
    }
    console.log('Every stored secret is sealed with this key. The other keys are not needed any more.');
  } finally {
    await collections.mongoClient.close();
  }
}
