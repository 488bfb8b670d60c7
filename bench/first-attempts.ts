import { connectTemporal } from '../temporal/connection.js';
import { measureDeliveries } from './overview/deliveries.js';
import { call } from './support/api-client.js';
import { measureBare } from './support/bare.js';
import { startBenchInstance } from './support/instance.js';
import { startCountingReceiver } from './support/receiver.js';
import { printFigures } from './support/results.js';

/** Measures first attempts at the receiver: with a workflow each, without, and without the product. */
export async function firstAttempts(scale = '1'): Promise<void> {
  const instance = await startBenchInstance();
  const temporal = await connectTemporal(instance.temporalAddress, 'default');
  const receiver = await startCountingReceiver();
  try {
    await call(instance, 'POST', '/webhooks/indexing', { url: receiver.url, generate_signing_secret: true });
    const bare = await measureBare(instance, temporal);
    const groups = await measureDeliveries(instance, temporal, receiver, bare, Number(scale));
    for (const [title, figures] of Object.entries(groups)) printFigures(title, figures);
  } finally {
    await receiver.close();
    await temporal.connection.close();
    await instance.stop();
  }
}
