import { measureEngine, type Run } from './measure.js';

/** A process of its own, so that the memory of one engine is not that of the other. */
process.once('message', async (run: Run) => {
  try {
    process.send!({ figures: await measureEngine(run) });
  } catch (error) {
    process.send!({ error: (error as Error).stack });
  }
  process.disconnect();
});
