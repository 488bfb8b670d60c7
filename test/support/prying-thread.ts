import { readFileSync } from 'node:fs';
import { parentPort, workerData } from 'node:worker_threads';

try {
  parentPort!.postMessage({ read: readFileSync(workerData as string, 'utf8') });
} catch (error) {
  const { code, message } = error as NodeJS.ErrnoException;
  parentPort!.postMessage({ error: { code: code ?? message } });
}
