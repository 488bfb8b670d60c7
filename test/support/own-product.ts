import { clientOf, registeredReceiver } from './organisation.js';
import { startProduct } from './product.js';

/** A separate product for destructive tests, with an organisation, its database, and a receiver of its webhooks. */
export async function startOwnProduct(org: string, database: string, settings: Record<string, string> = {}) {
  const product = await startProduct(settings);
  const api = await clientOf(org, product);
  const receiver = await registeredReceiver(api);
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
