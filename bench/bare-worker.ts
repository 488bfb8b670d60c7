import { fileURLToPath } from 'node:url';
import { NativeConnection, Worker } from '@temporalio/worker';
import { DELIVERY_TUNING } from '../worker/workers.js';

/** A worker process for the bare workflow, tuned as the delivery worker is. */
const connection = await NativeConnection.connect({ address: process.env.TEMPORAL_ADDRESS });
const worker = await Worker.create({
  connection,
  taskQueue: 'bare',
  workflowsPath: fileURLToPath(new URL('./workflows.js', import.meta.url)),
  activities: { nothing: async () => undefined },
  ...DELIVERY_TUNING,
});
process.once('disconnect', () => worker.shutdown());
const running = worker.run();
process.send?.({ ready: true });
await running;
await connection.close();
