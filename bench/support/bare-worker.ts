import { fileURLToPath } from 'node:url';
import { NativeConnection, Worker } from '@temporalio/worker';
import { DELIVERY_TUNING } from '../../worker/workers.js';

/** A worker process for the workflow `bare`, with the concurrency of the delivery worker. */
const connection = await NativeConnection.connect({ address: process.env.TEMPORAL_ADDRESS });
const worker = await Worker.create({
  connection,
  taskQueue: 'bare',
  workflowsPath: fileURLToPath(new URL('./bare-workflow.js', import.meta.url)),
  activities: { doNothing: async () => undefined },
  ...DELIVERY_TUNING,
});
process.once('disconnect', () => worker.shutdown());
const running = worker.run();
process.send?.({ ready: true });
await running;
await connection.close();
