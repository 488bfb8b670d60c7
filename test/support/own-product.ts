import { createClient } from './client.js';
import { makeKey, startProduct } from './product.js';
import { startReceiver } from './receiver.js';

/** A product for what breaks one: an organisation with a database, and a receiver of its webhooks. */
export async function startOwnProduct(org: string, database: string, settings: Record<string, string> = {}) {
  const product = await startProduct(settings);
  const api = createClient(product.apiUrl, (await makeKey(product.mongodbUri, org)).key);
  const receiver = await startReceiver();
  await api.post('/webhooks/indexing', { url: receiver.url });
  await api.createDatabase(database);
  return {
    product,
    api,
    receiver,
    async remove(): Promise<void> {
      await receiver.close();
      await product.remove();
    },
  };
}

export type OwnProduct = Awaited<ReturnType<typeof startOwnProduct>>;
