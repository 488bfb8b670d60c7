import { type Client, createClient } from './client.js';
import { makeKey, type ProductAddress, sharedProduct } from './product.js';
import { type Receiver, startReceiver } from './receiver.js';

/** A client with a new key of the organisation. */
export async function clientOf(org: string, product: ProductAddress = sharedProduct()): Promise<Client> {
  return createClient(product.apiUrl, (await makeKey(product.mongodbUri, org)).key);
}

/** A receiver that gets the indexing webhooks of the client's organisation. */
export async function registeredReceiver(api: Client): Promise<Receiver> {
  const receiver = await startReceiver();
  await api.post('/webhooks/indexing', { url: receiver.url });
  return receiver;
}
