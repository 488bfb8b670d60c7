import { rmSync } from 'node:fs';
import { workerData } from 'node:worker_threads';
import { type ChildOptions, OUT_OF_MEMORY } from './protocol.js';

/**
 * A thread that ends its process when it uses too much memory or its parent has ended. It runs while the main thread is
 * busy, and does not need the parent's event loop.
 */
const CHECK_MS = 25;
const { parent, folder, residentMb } = workerData as ChildOptions;

setInterval(() => {
  if (process.ppid !== parent) {
    rmSync(folder, { recursive: true, force: true });
    process.kill(process.pid, 'SIGKILL');
  }
  if (process.memoryUsage.rss() > residentMb * 1024 * 1024) process.kill(process.pid, OUT_OF_MEMORY);
}, CHECK_MS);
